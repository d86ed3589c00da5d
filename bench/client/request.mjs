// @ts-check
import { once } from 'node:events'
import { connect } from 'node:net'

/** @param {import('../client.mjs').Asking} asking */
export function requestBytes({ port, key, path, body }) {
  const lines = [
    `POST ${path} HTTP/1.1`,
    `host: 127.0.0.1:${port}`,
    'user-agent: gw-bench',
    'accept: application/json',
    'content-type: application/json',
    `authorization: Bearer ${key}`,
    `content-length: ${Buffer.byteLength(body)}`,
  ]
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`)
}

/** @param {number} port */
export async function connected(port) {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  await once(socket, 'connect')
  return socket
}

/**
 * @param {readonly number[]} sorted
 * @param {number} share
 */
export function at(sorted, share) {
  return sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN
}
