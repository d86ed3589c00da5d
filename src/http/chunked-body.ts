import type { ServerResponse } from 'node:http'

/** Up to here a chunk is copied into one buffer with its frame; beyond it the copy costs more than a gathering write. */
const JOIN_BYTES = 16_384
const LAST_CHUNK = '0\r\n\r\n'

/**
 * The body of an answer whose length nobody knows yet, written part by part.
 *
 * node:http makes four buffers of a chunk and writes them a tick later, which costs more than all that is done with
 * an event on its way. Here a part and its frame (RFC 9112 §7.1) are one buffer, and leave at once.
 */
export class ChunkedBody {
  readonly #res: ServerResponse
  /** Told in the head, and to clients of HTTP/1.1 only: for others the end of the connection ends the body. */
  readonly #isChunked: boolean

  /** @param res An answer whose head has been given to it, without a length. */
  constructor(res: ServerResponse) {
    this.#res = res
    this.#isChunked = res.chunkedEncoding
    res.chunkedEncoding = false
  }

  /** @returns false where the client does not take it as fast as it comes: `drain` follows on the answer. */
  write(parts: readonly Buffer[]): boolean {
    return this.#send(parts, '')
  }

  /** The last parts, and the end of the body. */
  end(parts: readonly Buffer[]): void {
    this.#send(parts, LAST_CHUNK)
    this.#res.end()
  }

  #send(parts: readonly Buffer[], last: string): boolean {
    const { socket } = this.#res
    socket?.cork()
    const isTaken = this.#isChunked ? this.#frame(parts, last) : this.#pass(parts)
    socket?.uncork()
    return isTaken
  }

  #frame(parts: readonly Buffer[], last: string): boolean {
    const res = this.#res
    let lengthBytes = 0
    for (const part of parts) lengthBytes += part.length
    // A chunk without bytes would be the last one.
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
    let isTaken = true
    for (const part of parts) isTaken = this.#res.write(part)
    return isTaken
  }
}
