import type { ServerResponse } from 'node:http'
import { takeChunking } from './node-internals.ts'

/** Up to this size a chunk is copied into one buffer with its frame; beyond it a copy costs more than a writev. */
const JOIN_BYTES = 16_384
const LAST_CHUNK = '0\r\n\r\n'

/**
 * Writes a body of unknown length in parts.
 *
 * node:http makes four buffers of a chunk and writes them a tick later, which costs more than all other work for an event.
 * Here a part and its frame (RFC 9112 §7.1) are one buffer, and are written immediately.
 */
export class ChunkedBody {
  readonly #res: ServerResponse
  /** Only for clients of HTTP/1.1: for others the end of the connection ends the body. */
  readonly #isChunked: boolean

  /** @param res An answer whose head is set, without a length. */
  constructor(res: ServerResponse) {
    this.#res = res
    this.#isChunked = takeChunking(res)
  }

  /** @returns false if the client reads too slowly: the answer emits `drain` later. */
  write(parts: readonly Buffer[]): boolean {
    return this.#send(parts, '')
  }

  /** Writes the last parts, and ends the body. */
  end(parts: readonly Buffer[]): void {
    this.#send(parts, LAST_CHUNK)
    this.#res.end()
  }

  #send(parts: readonly Buffer[], last: string): boolean {
    const { socket } = this.#res
    socket?.cork()
    const isDrained = this.#isChunked ? this.#frame(parts, last) : this.#pass(parts)
    socket?.uncork()
    return isDrained
  }

  #frame(parts: readonly Buffer[], last: string): boolean {
    const res = this.#res
    let lengthBytes = 0
    for (const part of parts) lengthBytes += part.length
    // An empty chunk would end the body.
    const ahead = lengthBytes > 0 ? `${lengthBytes.toString(16)}\r\n` : ''
    const behind = lengthBytes > 0 ? `\r\n${last}` : last
    if (lengthBytes > JOIN_BYTES) {
      res.write(ahead, 'latin1')
      this.#pass(parts)
      return res.write(behind, 'latin1')
    }
    const bytes = Buffer.allocUnsafe(ahead.length + lengthBytes + behind.length)
    let at = bytes.write(ahead, 'latin1')
    for (const part of parts) {
      bytes.set(part, at)
      at += part.length
    }
    bytes.write(behind, at, 'latin1')
    return res.write(bytes)
  }

  #pass(parts: readonly Buffer[]): boolean {
    let isDrained = true
    for (const part of parts) isDrained = this.#res.write(part)
    return isDrained
  }
}
