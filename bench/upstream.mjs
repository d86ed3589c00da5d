// @ts-check
/**
 * A model server that costs as little as Node can make it: no HTTP library, answers made beforehand.
 * It runs in a process of its own and tells its port to its parent.
 *
 * A prompt with `@every MS@` in it asks for a stream that never ends, of a chunk every so many milliseconds, each
 * with the time at which it was made.
 */
import { createServer } from 'node:net'
import process from 'node:process'
import { ANTHROPIC, OPENAI } from './answers.mjs'
import { MessageReader, nowUs } from './wire.mjs'

/** Streams that never end, by their pace in milliseconds. @type {Map<number, import('node:net').Socket[]>} */
const paced = new Map()

const server = createServer({ noDelay: true }, socket => {
  let streams = false
  let wantsUsage = false
  /** @type {number | undefined} */
  let everyMs
  const reader = new MessageReader(
    piece => {
      // The fields that matter stand in the first or the last piece of a body, and the bodies are ours.
      streams ||= piece.includes('"stream":true')
      wantsUsage ||= streams && piece.includes('"include_usage":true')
      const pace = streams ? piece.indexOf('@every ') : -1
      if (pace !== -1) everyMs = Number.parseInt(piece.toString('latin1', pace + 7, pace + 17), 10)
    },
    () => {
      const answers = reader.head.startsWith('post /v1/messages') ? ANTHROPIC : OPENAI
      if (everyMs !== undefined) goOn(socket, answers, everyMs)
      else if (streams) stream(socket, answers, wantsUsage)
      else socket.write(answers.json)
      streams = wantsUsage = false
      everyMs = undefined
    },
  )
  socket.on('data', bytes => reader.push(bytes))
  socket.on('error', () => socket.destroy())
})
server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, () => process.send?.(server.address()))
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
 */
function goOn(socket, answers, everyMs) {
  const sockets = paced.get(everyMs) ?? beginPace(everyMs)
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

/** Spreads the streams of one pace evenly over it. @param {number} everyMs */
function beginPace(everyMs) {
  /** @type {import('node:net').Socket[]} */
  const sockets = []
  paced.set(everyMs, sockets)
  let next = 0
  let due = 0
  let beforeMs = performance.now()
  setInterval(() => {
    const nowMs = performance.now()
    due = Math.min(due + (sockets.length * (nowMs - beforeMs)) / everyMs, sockets.length)
    beforeMs = nowMs
    for (; due >= 1; due--) {
      next = next + 1 < sockets.length ? next + 1 : 0
      const socket = sockets[next]
      if (socket && 'timed' in socket) socket.write(/** @type {any} */ (socket).timed(nowUs()))
    }
  }, 1)
  return sockets
}
