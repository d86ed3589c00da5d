// @ts-check
import { setTimeout as pause } from 'node:timers/promises'
import { nowUs } from '../wire.mjs'
import { at, connected, requestBytes } from './request.mjs'

/** So many streams are opened at a time: a server that accepts slowly is not what is measured. */
const AT_A_TIME = 50
const TIME = /@t=(\d+);/g
/** Longer than what is left of a line when a read ends inside one. */
const TAIL = 24

/** Streams that stay open, and how late their chunks are. */
export class OpenStreams {
  /** @type {Set<import('node:net').Socket>} */
  #sockets = new Set()
  /** @type {number[]} */
  #delaysUs = []
  #watching = false
  /** @type {string | undefined} */
  #fault

  /**
   * @param {import('../client.mjs').Open} order
   * @returns {Promise<{ opened: number }>}
   */
  async open(order) {
    const request = requestBytes(order)
    for (let opened = 0; opened < order.streams; opened += AT_A_TIME) {
      const wave = Math.min(AT_A_TIME, order.streams - opened)
      await Promise.all(Array.from({ length: wave }, () => this.#stream(order.port, request)))
    }
    return { opened: this.#sockets.size }
  }

  /**
   * @param {number} durationMs
   * @returns {Promise<import('../client.mjs').Watched>}
   */
  async watch(durationMs) {
    this.#delaysUs = []
    this.#watching = true
    const startMs = performance.now()
    await pause(durationMs)
    this.#watching = false
    const elapsedMs = performance.now() - startMs
    const delays = this.#delaysUs.sort((a, b) => a - b)
    const result = {
      chunks: delays.length,
      elapsedMs,
      p50Ms: at(delays, 0.5) / 1e3,
      p99Ms: at(delays, 0.99) / 1e3,
    }
    return this.#fault === undefined ? result : { ...result, fault: this.#fault }
  }

  async release() {
    const sockets = [...this.#sockets]
    this.#sockets.clear()
    await Promise.all(sockets.map(socket => new Promise(resolve => socket.once('close', resolve).destroy())))
    return {}
  }

  /**
   * Resolves when its first chunk has come.
   * @param {number} port
   * @param {Buffer} request
   */
  async #stream(port, request) {
    const socket = await connected(port)
    this.#sockets.add(socket)
    let tail = ''
    socket.on('error', error => {
      this.#fault ??= error.message
    })
    socket.on('close', () => {
      if (this.#sockets.delete(socket)) this.#fault ??= 'a stream ended by itself'
    })
    await new Promise(resolve => {
      socket.on('close', resolve)
      socket.on('data', bytes => {
        const text = tail + bytes.toString('latin1')
        let end = 0
        for (const found of text.matchAll(TIME)) {
          end = found.index + found[0].length
          if (this.#watching) this.#delaysUs.push(nowUs() - Number(found[1]))
          resolve(undefined)
        }
        tail = text.slice(Math.max(end, text.length - TAIL))
      })
      socket.write(request)
    })
  }
}
