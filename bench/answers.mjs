// @ts-check
/** What the upstream of the bench answers, made beforehand. */
import { STREAM_CHUNKS, UPSTREAM_MODEL } from './scenarios.mjs'

/**
 * @typedef {object} Answers
 * @property {Buffer} json a whole answer, head and body
 * @property {Buffer} streamHead
 * @property {readonly Buffer[]} events
 * @property {Buffer} usageEvent for those who asked for it
 * @property {readonly Buffer[]} lastEvents
 * @property {(us: number) => Buffer} timed an event with the time at which it was made, in microseconds
 */

const ANSWER_BYTES = 600
const LAST_CHUNK = '0\r\n\r\n'

const streamHead = latin1(
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n',
)

const frame = { id: 'chatcmpl-bench', created: 1767225600, model: UPSTREAM_MODEL }
const usage = { prompt_tokens: 60, completion_tokens: 90, total_tokens: 150 }

/** @type {Answers} */
export const OPENAI = {
  json: whole(content => ({
    ...frame,
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content }, logprobs: null, finish_reason: 'stop' }],
    usage,
  })),
  streamHead,
  events: Array.from({ length: STREAM_CHUNKS }, (_, i) => chunk(openaiEvent(i, ` word${i}`))),
  usageEvent: chunk(data({ ...frame, object: 'chat.completion.chunk', choices: [], usage })),
  lastEvents: [Buffer.concat([chunk('data: [DONE]\n\n'), latin1(LAST_CHUNK)])],
  timed: us => chunk(openaiEvent(0, ` @t=${us};`)),
}

const message = { id: 'msg_bench', type: 'message', role: 'assistant', model: UPSTREAM_MODEL }
const begun = { input_tokens: 60, output_tokens: 1 }

/** @type {Answers} */
export const ANTHROPIC = {
  json: whole(text => ({
    ...message,
    content: [{ type: 'text', text }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { ...begun, output_tokens: 90 },
  })),
  streamHead,
  events: [
    chunk(named({ type: 'message_start', message: { ...message, content: [], usage: begun } })),
    chunk(named({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } })),
    ...Array.from({ length: STREAM_CHUNKS - 2 }, (_, i) => chunk(anthropicEvent(` word${i}`))),
  ],
  usageEvent: Buffer.alloc(0),
  lastEvents: [
    chunk(named({ type: 'content_block_stop', index: 0 })),
    chunk(
      named({
        type: 'message_delta',
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        usage: { output_tokens: 90 },
      }),
    ),
    Buffer.concat([chunk(named({ type: 'message_stop' })), latin1(LAST_CHUNK)]),
  ],
  timed: us => chunk(anthropicEvent(` @t=${us};`)),
}

/**
 * @param {number} i
 * @param {string} content
 */
function openaiEvent(i, content) {
  const last = i === STREAM_CHUNKS - 1
  const choice = { index: 0, delta: last ? {} : { content }, finish_reason: last ? 'stop' : null }
  return data({ ...frame, object: 'chat.completion.chunk', choices: [choice] })
}

/** @param {string} text */
function anthropicEvent(text) {
  return named({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })
}

/** @param {(text: string) => object} made an answer that says `text`; it is made as long as chats are */
function whole(made) {
  const body = JSON.stringify(made('x'.repeat(ANSWER_BYTES - JSON.stringify(made('')).length)))
  return latin1(
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  )
}

/** @param {object} event */
function data(event) {
  return `data: ${JSON.stringify(event)}\n\n`
}

/** @param {{ type: string }} event */
function named(event) {
  return `event: ${event.type}\n${data(event)}`
}

/** @param {string} text */
function chunk(text) {
  return latin1(`${text.length.toString(16)}\r\n${text}\r\n`)
}

/** @param {string} text */
function latin1(text) {
  return Buffer.from(text, 'latin1')
}
