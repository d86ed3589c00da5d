// @ts-check
/**
 * A model server that costs as little as Node can make it: no HTTP library, answers made beforehand.
 * It runs in a process of its own and tells its port to its parent. With a number as argument it has that port also at so many other
 * addresses of this machine.
 *
 * A prompt with `@every MS@` in it asks for a stream that never ends, of a chunk every so many milliseconds, each
 * with the time at which it was made. With `@step MS@` all such streams of one address of this machine get theirs
 * together, as those of an engine do that decodes in batches.
 */
import { once } from 'node:events'
import { createServer } from 'node:net'
import process from 'node:process'
import { ANTHROPIC, OPENAI } from './answers.mjs'
import { engineHost } from './nodes-configuration.mjs'
import { UPSTREAM_MODEL } from './scenarios.mjs'
import { MessageReader, nowUs } from './wire.mjs'

/** Streams that never end, by their pace. @type {Map<string, import('node:net').Socket[]>} */
const paced = new Map()
const PACE = /@(every|step) (\d+)@/
const MODELS = JSON.stringify({ object: 'list', data: [{ id: UPSTREAM_MODEL, owned_by: 'vllm' }] })
const MODELS_ANSWER = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${MODELS.length}\r\n\r\n${MODELS}`
const NOT_FOUND = 'HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n'

/** @param {import('node:net').Socket} socket */
function serve(socket) {
  let streams = false
  let wantsUsage = false
  /** @type {RegExpExecArray | null} */
  let pace = null
  const reader = new MessageReader(
    piece => {
      // The fields that matter stand in the first or the last piece of a body, and the bodies are ours.
      streams ||= piece.includes('"stream":true')
      wantsUsage ||= streams && piece.includes('"include_usage":true')
      if (streams) pace ??= PACE.exec(piece.toString('latin1'))
    },
    () => {
      const answers = reader.head.startsWith('post /v1/messages') ? ANTHROPIC : OPENAI
      if (reader.head.startsWith('get '))
        socket.write(reader.head.startsWith('get /v1/models ') ? MODELS_ANSWER : NOT_FOUND)
      else if (pace) goOn(socket, answers, Number(pace[2]), pace[1] === 'step')
      else if (streams) stream(socket, answers, wantsUsage)
      else socket.write(answers.json)
      streams = wantsUsage = false
      pace = null
    },
  )
  socket.on('data', bytes => reader.push(bytes))
  socket.on('error', () => socket.destroy())
}

/** @param {string} host @param {number} port */
async function listen(host, port) {
  const server = createServer({ noDelay: true }, serve).listen({ port, host, backlog: 4096 })
  await once(server, 'listening')
  return /** @type {import('node:net').AddressInfo} */ (server.address())
}

const address = await listen('127.0.0.1', 0)
for (let index = 0; index < Number(process.argv[2] ?? 0); index++)
  await listen(engineHost(index), address.port)
process.send?.(address)
process.on('disconnect', () => process.exit(0))

/**
 * One write for each event, as a model server does, all as fast as they go.
 * @param {import('node:net').Socket} socket
 * @param {import('./answers.mjs').Answers} answers
 * @param {boolean} wantsUsage
 */
function stream(socket, answers, wantsUsage) {
  socket.write(answers.streamHead)
  for (const each of answers.events) socket.write(each)
  if (wantsUsage) socket.write(answers.usageEvent)
  for (const each of answers.lastEvents) socket.write(each)
}

/**
 * @param {import('node:net').Socket} socket
 * @param {import('./answers.mjs').Answers} answers
 * @param {number} everyMs
 * @param {boolean} inStep
 */
function goOn(socket, answers, everyMs, inStep) {
  const pace = inStep ? `${everyMs} ${socket.localAddress}` : `${everyMs}`
  const sockets = paced.get(pace) ?? (inStep ? beginSteps : beginPace)(pace, everyMs)
  sockets.push(socket)
  socket.once('close', () => {
    const at = sockets.indexOf(socket)
    const last = sockets.pop()
    if (last && at < sockets.length) sockets[at] = last
  })
  Object.assign(socket, { timed: answers.timed })
  socket.write(answers.streamHead)
  socket.write(answers.timed(nowUs()))
}

/** @param {import('node:net').Socket | undefined} socket */
function writeTimed(socket) {
  if (socket && 'timed' in socket) socket.write(/** @type {any} */ (socket).timed(nowUs()))
}

/** All streams of a pace at the same time. @param {string} pace @param {number} everyMs */
function beginSteps(pace, everyMs) {
  /** @type {import('node:net').Socket[]} */
  const sockets = []
  paced.set(pace, sockets)
  setInterval(() => {
    for (const socket of sockets) writeTimed(socket)
  }, everyMs)
  return sockets
}

/** Spreads the streams of one pace evenly over it. @param {string} pace @param {number} everyMs */
function beginPace(pace, everyMs) {
  /** @type {import('node:net').Socket[]} */
  const sockets = []
  paced.set(pace, sockets)
  let next = 0
  let due = 0
  let beforeMs = performance.now()
  setInterval(() => {
    const nowMs = performance.now()
    due = Math.min(due + (sockets.length * (nowMs - beforeMs)) / everyMs, sockets.length)
    beforeMs = nowMs
    for (; due >= 1; due--) {
      next = next + 1 < sockets.length ? next + 1 : 0
      writeTimed(sockets[next])
    }
  }, 1)
  return sockets
}
