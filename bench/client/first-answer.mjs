// @ts-check
import { setTimeout as pause } from 'node:timers/promises'
import { MessageReader, nowUs } from '../wire.mjs'
import { connected, requestBytes } from './request.mjs'

const PATIENCE_MS = 60_000

/**
 * Asks again and again until a request is answered with 200.
 * @param {import('../client.mjs').First} order
 * @returns {Promise<{ elapsedMs: number }>}
 */
export async function firstAnswer(order) {
  const request = requestBytes(order)
  const deadlineMs = performance.now() + PATIENCE_MS
  while (performance.now() < deadlineMs) {
    if (await asked(order.port, request)) return { elapsedMs: (nowUs() - order.sinceUs) / 1e3 }
    await pause(1)
  }
  throw new Error('nothing answers')
}

/**
 * @param {number} port
 * @param {Buffer} request
 * @returns {Promise<boolean>}
 */
async function asked(port, request) {
  const socket = await connected(port).catch(() => undefined)
  if (!socket) return false
  return new Promise(resolve => {
    const reader = new MessageReader(
      () => undefined,
      () => {
        resolve(reader.head.startsWith('http/1.1 200'))
        socket.destroy()
      },
    )
    socket.on('data', bytes => reader.push(bytes))
    socket.on('error', () => undefined)
    socket.on('close', () => resolve(false))
    socket.write(request)
  })
}
