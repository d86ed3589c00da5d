import type { Server, ServerResponse } from 'node:http'
import { Server as NetServer, Socket } from 'node:net'

/**
 * All parts of Node below its documented interface that this gateway relies on. Tested on Node 22.22, 24 and 26
 * (`npm run check:node`); `test/http/node-internals.test.ts` fails first if a version differs.
 */

/** Lets a client end its side after its request. Undocumented option of `http.Server`, off by default. */
export function allowHalfOpen(server: Server): void {
  Object.assign(server, { httpAllowHalfOpen: true })
}

/**
 * Stops accepting connections. The method of `http.Server` would also close idle connections at once, on which a request
 * may be in transit. Call `server.close()` when all have closed: it stops the timers of `http.Server`.
 */
export function stopAccepting(server: Server): void {
  NetServer.prototype.close.call(server)
}

/** The answer announces `connection: close`. Undocumented; must be called before its head is sent. */
export function closeAfter(answer: ServerResponse): void {
  answer.shouldKeepAlive = false
}

/**
 * Replaces the end of a connection after its last answer: `http.Server` calls `socket.destroySoon` then, which resets a
 * client that is still sending, so that the answer is lost.
 *
 * @param linger Ends the connection itself. @returns false to let Node do it.
 */
export function beforeDestroy(socket: Socket, linger: () => boolean): void {
  const destroySoon = socket.destroySoon.bind(socket)
  socket.destroySoon = () => {
    if (!linger()) destroySoon()
  }
}

/**
 * Takes the chunks of a body over from `http.ServerResponse`, once its head has been written: from now on bytes pass
 * unframed.
 *
 * @returns whether the caller must write chunks: for clients of HTTP/1.0 the end of the connection ends the body.
 */
export function takeChunking(res: ServerResponse): boolean {
  const isChunked = res.chunkedEncoding
  res.chunkedEncoding = false
  return isChunked
}

/** Receives the first `length` bytes of a buffer. They are valid during the call only. */
export type OnRead = (buffer: Buffer, length: number) => void

interface Handle {
  readonly useUserBuffer?: (buffer: Uint8Array) => void
}

/** As much as a socket of Node reads at once. */
const READ_BYTES = 65_536

/**
 * Makes sockets that a server has accepted read into one buffer, as the option `onread` does for those of a client: a read
 * costs no buffer of its own, and no stream. What was read before, and the end, still pass the stream.
 */
export class SharedReads {
  readonly #buffer = Buffer.allocUnsafeSlow(READ_BYTES)
  /** The symbols that `onread` sets. */
  readonly #kBuffer: symbol | undefined
  readonly #kCallback: symbol | undefined

  constructor() {
    const callback = (): boolean => true
    const socket = new Socket({ onread: { buffer: this.#buffer, callback } })
    for (const symbol of Object.getOwnPropertySymbols(socket)) {
      const value: unknown = Reflect.get(socket, symbol)
      if (value === this.#buffer) this.#kBuffer = symbol
      if (value === callback) this.#kCallback = symbol
    }
    socket.destroy()
  }

  /** @returns false if this version of Node does it otherwise, or the stream is no socket: its reads pass the stream. */
  take(socket: object, onRead: OnRead): boolean {
    if (!(socket instanceof Socket) || !this.#kBuffer || !this.#kCallback) return false
    const { _handle: handle } = socket as { readonly _handle?: Handle | null }
    if (!handle?.useUserBuffer || Reflect.get(socket, this.#kBuffer)) return false
    const buffer = this.#buffer
    handle.useUserBuffer(buffer)
    Reflect.set(socket, this.#kBuffer, buffer)
    Reflect.set(socket, this.#kCallback, (length: number) => {
      onRead(buffer, length)
      return true
    })
    return true
  }
}
