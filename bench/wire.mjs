// @ts-check
import process from 'node:process'

/**
 * Just enough HTTP/1.1 for both ends of the bench: one message at a time on a connection that is kept alive,
 * distinguished by `content-length` or by the last chunk.
 */

/** Microseconds of the monotonic clock, which all processes of a machine share. */
export function nowUs() {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1e6 + Math.round(nanoseconds / 1e3)
}

const HEAD_END = Buffer.from('\r\n\r\n')
const LAST_CHUNK = Buffer.from('0\r\n\r\n')

/** Finds the end of each message in the bytes of one connection. */
export class MessageReader {
  /** @type {Buffer | undefined} bytes of a head that is not complete yet */
  #pending
  #inBody = false
  #chunked = false
  #missing = 0
  /** @type {Buffer} the last bytes of a chunked body, in which its end may lie across two reads */
  #tail = Buffer.alloc(0)
  /** The head of the current message, in latin1. */
  head = ''
  /** @type {(piece: Buffer) => void} */
  #onPiece
  /** @type {() => void} */
  #onEnd

  /**
   * @param {(piece: Buffer) => void} onPiece gets the body as it is on the wire, chunk framing included
   * @param {() => void} onEnd
   */
  constructor(onPiece, onEnd) {
    this.#onPiece = onPiece
    this.#onEnd = onEnd
  }

  /** @param {Buffer} bytes */
  push(bytes) {
    let rest = bytes
    if (!this.#inBody) {
      if (this.#pending) rest = Buffer.concat([this.#pending, rest])
      const end = rest.indexOf(HEAD_END)
      if (end < 0) {
        this.#pending = rest
        return
      }
      this.#pending = undefined
      this.#readHead(rest.toString('latin1', 0, end + 2).toLowerCase())
      rest = rest.subarray(end + HEAD_END.length)
    }
    if (rest.length > 0) this.#onPiece(rest)
    if (this.#chunked ? this.#sawLastChunk(rest) : (this.#missing -= rest.length) <= 0) {
      this.#inBody = false
      this.#onEnd()
    }
  }

  /** @param {string} head */
  #readHead(head) {
    this.head = head
    this.#inBody = true
    this.#chunked = head.includes('\r\ntransfer-encoding: chunked\r\n')
    this.#missing = Number(/\r\ncontent-length: (\d+)\r\n/.exec(head)?.[1] ?? 0)
    this.#tail = Buffer.alloc(0)
  }

  /**
   * Nothing follows a message before its answer, so its last chunk is the end of what was read.
   * @param {Buffer} bytes
   */
  #sawLastChunk(bytes) {
    const last = bytes.length >= LAST_CHUNK.length ? bytes : Buffer.concat([this.#tail, bytes])
    this.#tail = last.subarray(-LAST_CHUNK.length)
    return this.#tail.equals(LAST_CHUNK)
  }
}
