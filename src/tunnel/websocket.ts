import { createHash } from 'node:crypto'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { pooledRandom, type Random } from '../base/random.ts'

/** The subprotocol of the upgrade, and its version. */
export const WEBSOCKET_PROTOCOL = 'gw-tunnel'
export const WEBSOCKET_VERSION = '13'
const KEY = /^[A-Za-z0-9+/]{22}==$/
/** RFC 6455 §1.3. */
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

const OPCODE = { continuation: 0, binary: 2, close: 8, ping: 9, pong: 10 } as const
const FIN = 0x80
const MASKED = 0x80
const MAX_HEADER_BYTES = 14
const MAX_CONTROL_BYTES = 125
const BUFFER_BYTES = 65_536
const NORMAL_CLOSE = Buffer.from([0x03, 0xe8])

export function isWebSocketKey(key: string | undefined): key is string {
  return key !== undefined && KEY.test(key)
}

/** `sec-websocket-accept` for a key. */
export function acceptOf(key: string): string {
  return createHash('sha1').update(`${key}${GUID}`).digest('base64')
}

export interface WebSocketOptions {
  /** Bytes of the connection that were read already. */
  readonly head: Buffer
  /** Of the client alone: what it sends is masked. */
  readonly random?: Random
}

/**
 * The bytes of a tunnel in binary messages of a WebSocket (RFC 6455), for load balancers that pass no other upgrade. The borders
 * of messages mean nothing; neither text nor extensions are used.
 *
 *     written ──▶ a message for each write ──▶ socket
 *     socket ──▶ header ──▶ payload in the pieces in which it comes ──▶ reader
 *                  └─ PING: answered · CLOSE: the end · anything else: destroyed
 */
export class WebSocketCarrier extends Duplex {
  readonly #socket: Socket
  readonly #random: Random | undefined
  readonly #header = Buffer.alloc(MAX_HEADER_BYTES)
  #headerFill = 0
  #opcode = 0
  /** Bytes of the payload that are still to come. */
  #left = 0
  readonly #mask = Buffer.alloc(4)
  #maskAt = 0
  /** Payload of a control frame. */
  readonly #control = Buffer.alloc(MAX_CONTROL_BYTES)
  #controlFill = 0
  /** A message goes on in the next data frame. */
  #isOpen = false
  #isEnded = false
  #isCloseSent = false
  /** The answer to the last PING, while the socket is full. */
  #pong: Buffer | undefined
  #written: (() => void) | undefined

  constructor(socket: Socket, { head, random }: WebSocketOptions) {
    super({ allowHalfOpen: true, readableHighWaterMark: BUFFER_BYTES, writableHighWaterMark: BUFFER_BYTES })
    this.#socket = socket
    this.#random = random && pooledRandom(random)
    // It may fail before its owner listens, who then finds it destroyed.
    this.on('error', () => undefined)
    socket.on('error', error => this.destroy(error))
    socket.on('end', () => this.#end())
    socket.on('close', () => this.destroy())
    socket.on('drain', () => {
      if (this.#pong) this.#send(OPCODE.pong, this.#pong)
      this.#pong = undefined
      const written = this.#written
      this.#written = undefined
      written?.()
    })
    if (head.length > 0) socket.unshift(head)
    socket.on('data', (bytes: Buffer) => this.#receive(bytes))
  }

  override _read(): void {
    this.#socket.resume()
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#sendMessage([chunk], done)
  }

  override _writev(chunks: readonly { readonly chunk: Buffer }[], done: () => void): void {
    this.#sendMessage(
      chunks.map(({ chunk }) => chunk),
      done,
    )
  }

  override _final(done: () => void): void {
    this.#sendClose(NORMAL_CLOSE)
    this.#socket.end(done)
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.destroy()
    done(error)
  }

  #sendMessage(pieces: readonly Buffer[], done: () => void): void {
    const payload = pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces)
    if (this.#send(OPCODE.binary, payload)) done()
    else this.#written = done
  }

  /** @returns false if the socket is full. */
  #send(opcode: number, payload: Buffer): boolean {
    const { length } = payload
    const lengthBytes = length < 126 ? 0 : length < 0x1_0000 ? 2 : 8
    const headBytes = 2 + lengthBytes + (this.#random ? 4 : 0)
    const frame = Buffer.allocUnsafe(this.#random ? headBytes + length : headBytes)
    frame[0] = FIN | opcode
    frame[1] = (this.#random ? MASKED : 0) | (lengthBytes === 0 ? length : lengthBytes === 2 ? 126 : 127)
    if (lengthBytes === 2) frame.writeUInt16BE(length, 2)
    if (lengthBytes === 8) frame.writeBigUInt64BE(BigInt(length), 2)
    const socket = this.#socket
    if (this.#random) {
      const mask = this.#random.bytes(4)
      frame.set(mask, headBytes - 4)
      payload.copy(frame, headBytes)
      applyMask(frame, headBytes, mask, 0)
      return socket.write(frame)
    }
    socket.cork()
    socket.write(frame)
    const isFree = socket.write(payload)
    socket.uncork()
    return isFree
  }

  #sendClose(payload: Buffer): void {
    if (this.#isCloseSent || this.#socket.destroyed) return
    this.#isCloseSent = true
    this.#send(OPCODE.close, payload)
  }

  #end(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.push(null)
  }

  #receive(bytes: Buffer): void {
    let at = 0
    while (at < bytes.length && !this.#isEnded && !this.destroyed) {
      if (this.#left === 0) {
        at = this.#readHeader(bytes, at)
        continue
      }
      const piece = bytes.subarray(at, at + this.#left)
      at += piece.length
      this.#left -= piece.length
      if (!this.#random) {
        applyMask(piece, 0, this.#mask, this.#maskAt)
        this.#maskAt = (this.#maskAt + piece.length) & 3
      }
      if (this.#opcode >= OPCODE.close) this.#readControl(piece)
      else if (!this.push(piece)) this.#socket.pause()
    }
  }

  /** @returns where its bytes end. */
  #readHeader(bytes: Buffer, from: number): number {
    let at = from
    while (at < bytes.length && this.#headerFill < this.#headerBytes) {
      this.#header[this.#headerFill++] = bytes[at++] as number
      if (this.#headerFill === 2 && !this.#isStartValid()) {
        this.#fault()
        return bytes.length
      }
    }
    if (this.#headerFill === this.#headerBytes) this.#beginPayload()
    return at
  }

  get #lengthBytes(): number {
    const size = (this.#header[1] as number) & 0x7f
    return size < 126 ? 0 : size === 126 ? 2 : 8
  }

  /** As far as its first bytes say: the client masks, the server does not. */
  get #headerBytes(): number {
    return this.#headerFill < 2 ? 2 : 2 + this.#lengthBytes + (this.#random ? 0 : 4)
  }

  #beginPayload(): void {
    const header = this.#header
    const lengthBytes = this.#lengthBytes
    this.#headerFill = 0
    this.#left =
      lengthBytes === 0
        ? (header[1] as number) & 0x7f
        : lengthBytes === 2
          ? header.readUInt16BE(2)
          : Number(header.readBigUInt64BE(2))
    if (this.#left > Number.MAX_SAFE_INTEGER) return this.#fault()
    header.copy(this.#mask, 0, 2 + lengthBytes, 2 + lengthBytes + 4)
    this.#maskAt = 0
    this.#controlFill = 0
    if (this.#left === 0 && this.#opcode >= OPCODE.close) this.#readControl(Buffer.alloc(0))
  }

  /** Reads the first two bytes of a header. */
  #isStartValid(): boolean {
    const [first = 0, second = 0] = this.#header
    const opcode = first & 0x0f
    const isFinal = (first & FIN) !== 0
    const isMasked = (second & MASKED) !== 0
    this.#opcode = opcode
    if ((first & 0x70) !== 0 || isMasked !== (this.#random === undefined)) return false
    if (opcode === OPCODE.continuation || opcode === OPCODE.binary) {
      const isExpected = (opcode === OPCODE.continuation) === this.#isOpen
      this.#isOpen = !isFinal
      return isExpected
    }
    const isControl = opcode === OPCODE.close || opcode === OPCODE.ping || opcode === OPCODE.pong
    return isControl && isFinal && (second & 0x7f) <= MAX_CONTROL_BYTES
  }

  #readControl(piece: Buffer): void {
    piece.copy(this.#control, this.#controlFill)
    this.#controlFill += piece.length
    if (this.#left > 0) return
    const payload = Buffer.from(this.#control.subarray(0, this.#controlFill))
    if (this.#opcode === OPCODE.ping) {
      // Of several the last one is answered: one that reads nothing must not fill the memory.
      if (this.#socket.writableNeedDrain) this.#pong = payload
      else this.#send(OPCODE.pong, payload)
    } else if (this.#opcode === OPCODE.close) {
      this.#sendClose(payload.subarray(0, 2))
      this.#end()
    }
  }

  #fault(): void {
    this.destroy(new Error('an invalid frame of the WebSocket'))
  }
}

/** @param at How many bytes of the payload were masked before. */
function applyMask(bytes: Buffer, from: number, mask: Uint8Array, at: number): void {
  for (let index = from, offset = at; index < bytes.length; index++, offset++)
    bytes[index] = (bytes[index] as number) ^ (mask[offset & 3] as number)
}
