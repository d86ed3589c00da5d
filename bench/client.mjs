// @ts-check
/**
 * The client: raw sockets, kept alive. It runs in a process of its own and does one order of its parent at a time.
 */
import process from 'node:process'
import { converse, ping } from './client/closed-loop.mjs'
import { firstAnswer } from './client/first-answer.mjs'
import { OpenStreams } from './client/open-streams.mjs'

/**
 * @typedef {object} Asking where and what
 * @property {number} port
 * @property {string} key
 * @property {string} path
 * @property {string} body
 *
 * @typedef {Asking & { order: 'converse', connections: number, durationMs: number }} Converse
 *   asks again and again; answered by a {@link Conversed}
 * @typedef {Asking & { order: 'open', streams: number }} Open
 *   opens streams and keeps them; answered, when each has said something, by `{ opened }`
 * @typedef {{ order: 'watch', durationMs: number }} Watch the streams that are open; answered by a {@link Watched}
 * @typedef {{ order: 'release' }} Release closes them; answered by `{}`
 * @typedef {{ order: 'ping', port: number, durationMs: number }} Ping asks for `/health`; answered by a {@link Conversed}
 * @typedef {Asking & { order: 'first', sinceUs: number }} First asks until it is answered; by `{ elapsedMs }`
 * @typedef {Converse | Open | Watch | Release | Ping | First} Order
 *
 * @typedef {object} Conversed
 * @property {number} answers
 * @property {number} elapsedMs
 * @property {number} p50Ms
 * @property {number} p99Ms
 * @property {number} maxMs
 * @property {string} [fault] what the first answer said that was no 200
 *
 * @typedef {object} Watched
 * @property {number} chunks
 * @property {number} elapsedMs
 * @property {number} p50Ms from when a chunk was made until it was here
 * @property {number} p99Ms
 * @property {string} [fault]
 */

const streams = new OpenStreams()

/** @param {Order} order @returns {Promise<object>} */
function done(order) {
  switch (order.order) {
    case 'converse':
      return converse(order)
    case 'open':
      return streams.open(order)
    case 'watch':
      return streams.watch(order.durationMs)
    case 'release':
      return streams.release()
    case 'ping':
      return ping(order)
    case 'first':
      return firstAnswer(order)
  }
}

process.on('message', order => {
  done(/** @type {Order} */ (order)).then(
    result => process.send?.(result),
    error => process.send?.({ fault: String(error) }),
  )
})
process.on('disconnect', () => process.exit(0))
