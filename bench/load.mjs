// @ts-check
/**
 * The client: raw sockets, kept alive, each sending its next request as soon as the answer to the last is whole.
 * It runs in a process of its own, one run for each message of its parent.
 */
import { once } from 'node:events'
import { connect } from 'node:net'
import process from 'node:process'
import { MessageReader } from './wire.mjs'

/**
 * @typedef {object} Order
 * @property {number} port
 * @property {string} key
 * @property {number} connections
 * @property {number} durationMs
 * @property {string} body
 *
 * @typedef {object} Result
 * @property {number} answers
 * @property {number} elapsedMs
 * @property {number} p50Ms
 * @property {number} p99Ms
 * @property {string} [fault] what the first answer said that was no 200
 */

process.on('message', order => void run(/** @type {Order} */ (order)).then(result => process.send?.(result)))
process.on('disconnect', () => process.exit(0))

/**
 * @param {Order} order
 * @returns {Promise<Result>}
 */
async function run(order) {
  const request = requestBytes(order)
  /** @type {number[]} */
  const latenciesMs = []
  /** @type {string | undefined} */
  let fault
  const sockets = await Promise.all(
    Array.from({ length: order.connections }, async () => {
      const socket = connect({ port: order.port, host: '127.0.0.1', noDelay: true })
      await once(socket, 'connect')
      return socket
    }),
  )
  const startMs = performance.now()
  const endMs = startMs + order.durationMs
  const mayGoOn = () => performance.now() < endMs && fault === undefined
  await Promise.all(
    sockets.map(socket =>
      converse(socket, request, {
        mayGoOn,
        onAnswer: latencyMs => latenciesMs.push(latencyMs),
        onFault: text => {
          fault ??= text
        },
      }),
    ),
  )
  const elapsedMs = performance.now() - startMs
  latenciesMs.sort((a, b) => a - b)
  const at = (/** @type {number} */ share) =>
    latenciesMs[Math.floor((latenciesMs.length - 1) * share)] ?? Number.NaN
  const result = { answers: latenciesMs.length, elapsedMs, p50Ms: at(0.5), p99Ms: at(0.99) }
  return fault === undefined ? result : { ...result, fault }
}

/**
 * Asks again and again over one connection; resolves when that is closed.
 * @param {import('node:net').Socket} socket
 * @param {Buffer} request
 * @param {{ mayGoOn: () => boolean, onAnswer: (latencyMs: number) => void, onFault: (text: string) => void }} ports
 * @returns {Promise<void>}
 */
function converse(socket, request, { mayGoOn, onAnswer, onFault }) {
  let sentMs = 0
  let firstPiece = ''
  const send = () => {
    firstPiece = ''
    sentMs = performance.now()
    socket.write(request)
  }
  const reader = new MessageReader(
    piece => {
      if (firstPiece === '') firstPiece = piece.toString('latin1', 0, 300)
    },
    () => {
      if (reader.head.startsWith('http/1.1 200')) onAnswer(performance.now() - sentMs)
      else onFault(`${reader.head.split('\r\n', 1)[0]} ${firstPiece}`)
      if (mayGoOn()) send()
      else socket.end()
    },
  )
  socket.on('data', bytes => reader.push(bytes))
  socket.on('error', error => onFault(error.message))
  send()
  return new Promise(resolve => {
    socket.on('close', () => {
      if (mayGoOn()) onFault('the connection was closed in the middle of the run')
      resolve()
    })
  })
}

/** @param {Order} order */
function requestBytes({ port, key, body }) {
  const lines = [
    'POST /v1/chat/completions HTTP/1.1',
    `host: 127.0.0.1:${port}`,
    'user-agent: gw-bench',
    'accept: application/json',
    'content-type: application/json',
    `authorization: Bearer ${key}`,
    `content-length: ${Buffer.byteLength(body)}`,
  ]
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`)
}
