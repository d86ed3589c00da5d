// @ts-check
import { MessageReader } from '../wire.mjs'
import { at, connected, requestBytes } from './request.mjs'

/**
 * Asks over each connection as soon as the answer to the last is whole.
 * @param {import('../client.mjs').Converse} order
 */
export function converse(order) {
  return inALoop(order.port, order.connections, order.durationMs, requestBytes(order))
}

/** @param {import('../client.mjs').Ping} order */
export function ping({ port, durationMs }) {
  return inALoop(port, 1, durationMs, Buffer.from('GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n'))
}

/**
 * @param {number} port
 * @param {number} connections
 * @param {number} durationMs
 * @param {Buffer} request
 * @returns {Promise<import('../client.mjs').Conversed>}
 */
async function inALoop(port, connections, durationMs, request) {
  /** @type {number[]} */
  const latenciesMs = []
  /** @type {string | undefined} */
  let fault
  const sockets = await Promise.all(Array.from({ length: connections }, () => connected(port)))
  const startMs = performance.now()
  const mayGoOn = () => performance.now() < startMs + durationMs && fault === undefined
  const onAnswer = (/** @type {number} */ latencyMs) => void latenciesMs.push(latencyMs)
  const onFault = (/** @type {string} */ text) => {
    fault ??= text
  }
  await Promise.all(sockets.map(socket => askOver(socket, request, { mayGoOn, onAnswer, onFault })))
  const elapsedMs = performance.now() - startMs
  latenciesMs.sort((a, b) => a - b)
  const times = { p50Ms: at(latenciesMs, 0.5), p99Ms: at(latenciesMs, 0.99), maxMs: at(latenciesMs, 1) }
  const result = { answers: latenciesMs.length, elapsedMs, ...times }
  return fault === undefined ? result : { ...result, fault }
}

/**
 * Resolves when the connection is closed.
 * @param {import('node:net').Socket} socket
 * @param {Buffer} request
 * @param {{ mayGoOn: () => boolean, onAnswer: (latencyMs: number) => void, onFault: (text: string) => void }} ports
 * @returns {Promise<void>}
 */
function askOver(socket, request, { mayGoOn, onAnswer, onFault }) {
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
