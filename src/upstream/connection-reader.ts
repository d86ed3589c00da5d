import type { OnReadOpts, Socket } from 'node:net'

/** The part of undici's parser that is used here. */
export interface Parser {
  /** It has stopped inside a read, and put the rest back into the socket. */
  readonly paused: boolean
  /** Parses bytes of the connection, of which it keeps views. */
  execute(bytes: Buffer): void
  onBody(piece: Buffer): number
}

/** Receives parts of a body that undici's parser does not see. */
export interface ChunkSink {
  /** @param bytes Valid during the call only. @returns false to read nothing more until {@link ConnectionReader.resume}. */
  onChunks(bytes: Buffer): boolean
}

/** As much as a socket of Node reads at once. */
const READ_BYTES = 65_536
const CR = 0x0d
const LF = 0x0a
const CRLF_BYTES = 2
/** A larger chunk is not whole in one read. */
const MAX_SIZE_DIGITS = 5

const kReader = Symbol('reader')
type ReadSocket = Socket & { [kReader]?: ConnectionReader }

/**
 * Reads a connection of undici, and passes whole chunks of an answer past undici's parser.
 *
 *     read ──▶ begins with whole chunks, of an answer with a sink? ── yes ──▶ sink, as one piece
 *                │ no, or the rest
 *                ▼
 *              a copy ──▶ undici's parser ──▶ head, pieces, end
 *
 * A read costs no stream: no buffer of its own, and no ticks. The parser may miss whole chunks (RFC 9112 §7.1) where it
 * expects the size of one, because it expects the next size after them. It does if its last piece of a chunked body was
 * followed by CRLF and nothing else. What is not a plain chunk (an extension, the last chunk, an invalid size, a part of
 * a chunk) is left to the parser.
 */
export class ConnectionReader {
  /** Receives the chunks of the current answer. Only for a body whose one transfer coding is `chunked`. */
  sink: ChunkSink | undefined
  readonly #socket: Socket
  readonly #parser: Parser
  /** Where the parser's last piece of the current bytes ends in their memory. */
  #pieceEnd = -1
  /** The parser expects the size of a chunk. */
  #atChunk = false

  constructor(socket: Socket, parser: Parser) {
    this.#socket = socket
    this.#parser = parser
    const onBody = parser.onBody.bind(parser)
    parser.onBody = piece => {
      this.#pieceEnd = piece.byteOffset + piece.length
      return onBody(piece)
    }
    Object.assign(socket, { [kReader]: this })
  }

  /**
   * Connection options: sockets with these read into one buffer, and each passes its bytes to its reader. Streams of nodes pass
   * bytes of a buffer of their own.
   */
  static options(): OnReadOpts {
    const own = Buffer.allocUnsafeSlow(READ_BYTES)
    return {
      buffer: own,
      callback(this: ReadSocket, length: number, bytes: Uint8Array): boolean {
        const buffer = bytes instanceof Buffer ? bytes : own
        const reader = this[kReader]
        return reader ? reader.#read(buffer, length) : this.push(copyOf(buffer, 0, length))
      },
    }
  }

  /** Continues after the sink returned false. */
  resume(): void {
    // A paused parser reads by itself when it is resumed.
    if (!this.#socket.destroyed && !this.#parser.paused) this.#socket.read(0)
  }

  /** @returns false to stop reading. */
  #read(buffer: Buffer, length: number): boolean {
    const socket = this.#socket
    const parser = this.#parser
    // Earlier bytes come first.
    if (parser.paused || socket.readableLength > 0) return socket.push(copyOf(buffer, 0, length))
    let goesOn = true
    let at = 0
    if (this.sink && this.#atChunk) {
      const chunks = new WholeChunks(buffer, length)
      at = chunks.end
      if (at > 0) goesOn = this.sink.onChunks(buffer.subarray(chunks.dataStart, chunks.dataEnd))
    }
    if (at < length && !socket.destroyed) this.#parse(copyOf(buffer, at, length))
    return goesOn && !parser.paused
  }

  #parse(bytes: Buffer): void {
    this.#pieceEnd = -1
    this.#parser.execute(bytes)
    const end = bytes.length
    this.#atChunk =
      !this.#parser.paused &&
      this.#pieceEnd === bytes.byteOffset + end - CRLF_BYTES &&
      bytes[end - 2] === CR &&
      bytes[end - 1] === LF
  }
}

/** The whole chunks at the start of a read. Their data is moved together. */
class WholeChunks {
  /** Offset after the last of them; 0: there are none. */
  end = 0
  dataStart = 0
  dataEnd = 0

  constructor(bytes: Buffer, length: number) {
    for (;;) {
      let at = this.end
      let size = 0
      for (; at < length && at - this.end < MAX_SIZE_DIGITS; at++) {
        const digit = hexDigit(bytes[at] as number)
        if (digit < 0) break
        size = size * 16 + digit
      }
      const start = at + CRLF_BYTES
      const end = start + size
      if (size === 0 || end + CRLF_BYTES > length || !isCrlf(bytes, at) || !isCrlf(bytes, end)) return
      if (this.end === 0) {
        this.dataStart = start
        this.dataEnd = end
      } else {
        bytes.copyWithin(this.dataEnd, start, end)
        this.dataEnd += size
      }
      this.end = end + CRLF_BYTES
    }
  }
}

function isCrlf(bytes: Buffer, at: number): boolean {
  return bytes[at] === CR && bytes[at + 1] === LF
}

/** @returns -1 for any other byte. */
function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const letter = byte | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1
}

function copyOf(buffer: Buffer, from: number, to: number): Buffer {
  return Buffer.from(buffer.subarray(from, to))
}
