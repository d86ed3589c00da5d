import type { ServerResponse } from 'node:http'
import type { ByteSource } from '../base/byte-source.ts'
import { takeChunking } from './node-internals.ts'

/** Up to this size a chunk is copied into one buffer with its frame; beyond it a copy costs more than a writev. */
const JOIN_BYTES = 16_384
const LAST_CHUNK = '0\r\n\r\n'
const CR = 0x0d
const LF = 0x0a
const CRLF_BYTES = 2

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
  /** node:http has been given a part, and with it the head. */
  #began = false

  /** @param res An answer whose head is set, without a length. */
  constructor(res: ServerResponse) {
    this.#res = res
    this.#isChunked = takeChunking(res)
  }

  /** @returns false if the client reads too slowly: the answer emits `drain` later. */
  write(parts: readonly Buffer[]): boolean {
    return this.#send(parts, '')
  }

  /** Like {@link write}, for bytes that are not empty. */
  writeFrom(source: ByteSource): boolean {
    const { length } = source
    const aheadBytes = sizeDigits(length) + CRLF_BYTES
    const isFramed = this.#isChunked && length <= JOIN_BYTES
    const bytes = Buffer.allocUnsafe(isFramed ? aheadBytes + length + CRLF_BYTES : length)
    if (!isFramed) {
      source.copyTo(bytes, 0)
      return this.write([bytes])
    }
    writeSize(bytes, length)
    source.copyTo(bytes, aheadBytes)
    bytes[aheadBytes + length] = CR
    bytes[aheadBytes + length + 1] = LF
    return this.#sendFrame(bytes)
  }

  /** Writes the last parts, and ends the body. */
  end(parts: readonly Buffer[]): void {
    this.#send(parts, LAST_CHUNK)
    this.#res.end()
  }

  /** Writes past node:http if nothing waits there or in the socket: to write there would change nothing. */
  #sendFrame(bytes: Buffer): boolean {
    const res = this.#res
    const { socket } = res
    const isDirect = this.#began && socket && res.writableLength === 0
    // At the limit of the socket it is node:http that emits `drain`.
    if (isDirect && bytes.length < socket.writableHighWaterMark) return socket.write(bytes)
    this.#began = true
    socket?.cork()
    const isDrained = res.write(bytes)
    socket?.uncork()
    return isDrained
  }

  #send(parts: readonly Buffer[], last: string): boolean {
    let lengthBytes = 0
    for (const part of parts) lengthBytes += part.length
    // An empty chunk would end the body.
    const ahead = lengthBytes > 0 ? `${lengthBytes.toString(16)}\r\n` : ''
    const behind = lengthBytes > 0 ? `\r\n${last}` : last
    if (this.#isChunked && lengthBytes <= JOIN_BYTES)
      return this.#sendFrame(joined(ahead, parts, lengthBytes, behind))
    const res = this.#res
    this.#began = true
    res.socket?.cork()
    if (this.#isChunked) res.write(ahead, 'latin1')
    let isDrained = true
    for (const part of parts) isDrained = res.write(part)
    if (this.#isChunked) isDrained = res.write(behind, 'latin1')
    res.socket?.uncork()
    return isDrained
  }
}

function joined(ahead: string, parts: readonly Buffer[], lengthBytes: number, behind: string): Buffer {
  const bytes = Buffer.allocUnsafe(ahead.length + lengthBytes + behind.length)
  let at = bytes.write(ahead, 'latin1')
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  bytes.write(behind, at, 'latin1')
  return bytes
}

/** The number of hexadecimal digits of a size up to `JOIN_BYTES`. */
function sizeDigits(size: number): number {
  if (size < 0x100) return size < 0x10 ? 1 : 2
  if (size < 0x1000) return 3
  return 4
}

/** Writes the line with the size of a chunk at the start of `bytes`. */
function writeSize(bytes: Buffer, size: number): void {
  const digits = sizeDigits(size)
  for (let at = digits - 1, rest = size; at >= 0; at--, rest >>= 4) {
    const digit = rest & 0xf
    bytes[at] = digit < 10 ? 0x30 + digit : 0x57 + digit
  }
  bytes[digits] = CR
  bytes[digits + 1] = LF
}
