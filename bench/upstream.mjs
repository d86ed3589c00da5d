// @ts-check
/**
 * A model server that costs as little as Node can make it: no HTTP library, answers made beforehand.
 * It runs in a process of its own and tells its port to its parent.
 */
import { createServer } from 'node:net'
import process from 'node:process'
import { STREAM_CHUNKS, UPSTREAM_MODEL } from './scenarios.mjs'
import { MessageReader } from './wire.mjs'

const ANSWER_BYTES = 600

const usage = { prompt_tokens: 60, completion_tokens: 90, total_tokens: 150 }
const frame = { id: 'chatcmpl-bench', created: 1767225600, model: UPSTREAM_MODEL }

const json = jsonAnswer()
const sseHead = latin1(
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n',
)
const events = Array.from({ length: STREAM_CHUNKS }, (_, i) => event(delta(i)))
const usageEvent = event({ ...frame, object: 'chat.completion.chunk', choices: [], usage })
const done = Buffer.concat([chunk('data: [DONE]\n\n'), latin1('0\r\n\r\n')])

const server = createServer({ noDelay: true }, socket => {
  let streams = false
  let wantsUsage = false
  const reader = new MessageReader(
    piece => {
      // The fields that matter stand in the first or the last piece of a body, and the bodies are ours.
      streams ||= piece.includes('"stream":true')
      wantsUsage ||= streams && piece.includes('"include_usage":true')
    },
    () => {
      if (streams) stream(socket, wantsUsage)
      else socket.write(json)
      streams = wantsUsage = false
    },
  )
  socket.on('data', bytes => reader.push(bytes))
  socket.on('error', () => socket.destroy())
})
server.listen(0, '127.0.0.1', () => process.send?.(server.address()))
process.on('disconnect', () => process.exit(0))

/**
 * One write for each event, as a model server does, all as fast as they go.
 * @param {import('node:net').Socket} socket
 * @param {boolean} wantsUsage
 */
function stream(socket, wantsUsage) {
  socket.write(sseHead)
  for (const each of events) socket.write(each)
  if (wantsUsage) socket.write(usageEvent)
  socket.write(done)
}

function jsonAnswer() {
  const whole = (/** @type {string} */ content) =>
    JSON.stringify({
      ...frame,
      object: 'chat.completion',
      choices: [{ index: 0, message: { role: 'assistant', content }, logprobs: null, finish_reason: 'stop' }],
      usage,
    })
  const body = whole('x'.repeat(ANSWER_BYTES - whole('').length))
  return latin1(
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  )
}

/** @param {number} i */
function delta(i) {
  const last = i === STREAM_CHUNKS - 1
  const choice = {
    index: 0,
    delta: last ? {} : { content: ` word${i}` },
    finish_reason: last ? 'stop' : null,
  }
  return { ...frame, object: 'chat.completion.chunk', choices: [choice] }
}

/** @param {object} data */
function event(data) {
  return chunk(`data: ${JSON.stringify(data)}\n\n`)
}

/** @param {string} text */
function chunk(text) {
  return latin1(`${text.length.toString(16)}\r\n${text}\r\n`)
}

/** @param {string} text */
function latin1(text) {
  return Buffer.from(text, 'latin1')
}
