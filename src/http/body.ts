import type { IncomingMessage } from 'node:http'
import { REJECTED } from './connection.ts'
import type { HttpRejection } from './rejection.ts'

/** Why a body was not read to its end: its size, its content, or its transfer. */
export type BodyFault = 'too_large' | 'unwanted' | 'aborted' | HttpRejection

export type BodyRead =
  | { readonly ok: true; readonly pieces: Buffer[]; readonly lengthBytes: number }
  | { readonly ok: false; readonly fault: BodyFault }

/** So many pieces are joined if they are small: each takes hundreds of bytes, also one of a single byte. */
const JOINED_PIECES = 256
const JOINED_BYTES = 131_072

/** The declared `content-length`; undefined for a chunked body. */
export function declaredLength(req: IncomingMessage): number | undefined {
  const text = req.headers['content-length']
  return text === undefined ? undefined : Number(text)
}

/**
 * Reads a body as received, without joining its pieces, unless there are very many small ones. `onPiece` gets each piece
 * when it arrives, so that validating a large body does not block the event loop at its end; it returns false to stop.
 *
 * A declared length over the limit is rejected before a byte is read: a client that is still sending would get a
 * reset instead of its answer.
 */
export function readBody(
  req: IncomingMessage,
  limitBytes: number,
  onPiece: (piece: Buffer) => boolean,
): Promise<BodyRead> {
  if ((declaredLength(req) ?? 0) > limitBytes) return Promise.resolve({ ok: false, fault: 'too_large' })
  return new Promise(resolve => new BodyReader(req, limitBytes, onPiece, resolve))
}

/**
 * Reads one body. Removing listeners costs more than no-op calls, so they stay until the answer ends, which may take
 * hours: the pieces and callbacks are released as soon as the promise is resolved.
 */
class BodyReader {
  readonly #req: IncomingMessage
  readonly #limitBytes: number
  #onPiece: ((piece: Buffer) => boolean) | undefined
  /** Undefined once called. */
  #resolve: ((read: BodyRead) => void) | undefined
  #pieces: Buffer[] = []
  #lengthBytes = 0
  /** The last pieces, up to JOINED_PIECES. */
  #lastCount = 0
  #lastBytes = 0

  constructor(
    req: IncomingMessage,
    limitBytes: number,
    onPiece: (piece: Buffer) => boolean,
    resolve: (read: BodyRead) => void,
  ) {
    this.#req = req
    this.#limitBytes = limitBytes
    this.#onPiece = onPiece
    this.#resolve = resolve
    req.on('data', (piece: Buffer) => this.#take(piece))
    req.on('end', () => this.#settle({ ok: true, pieces: this.#pieces, lengthBytes: this.#lengthBytes }))
    req.on('close', () => this.#settle({ ok: false, fault: 'aborted' }))
    req.on(REJECTED, this.#reject)
  }

  #take(piece: Buffer): void {
    if (!this.#onPiece) return
    this.#lengthBytes += piece.length
    const fault =
      this.#lengthBytes > this.#limitBytes ? 'too_large' : this.#onPiece(piece) ? undefined : 'unwanted'
    if (!fault) return this.#keep(piece)
    discard(this.#req)
    this.#settle({ ok: false, fault })
  }

  #keep(piece: Buffer): void {
    this.#pieces.push(piece)
    this.#lastBytes += piece.length
    if (++this.#lastCount < JOINED_PIECES) return
    if (this.#lastBytes <= JOINED_BYTES) this.#pieces.push(Buffer.concat(this.#pieces.splice(-JOINED_PIECES)))
    this.#lastCount = 0
    this.#lastBytes = 0
  }

  readonly #reject = (rejection: HttpRejection): void => this.#settle({ ok: false, fault: rejection })

  #settle(read: BodyRead): void {
    if (!this.#resolve) return
    this.#resolve(read)
    this.#resolve = undefined
    this.#onPiece = undefined
    this.#pieces = []
    this.#req.off(REJECTED, this.#reject)
  }
}

/** Limit of a rejected body that is read and discarded, so that its sender can read the answer. */
const DISCARD_BYTES = 67_108_864

/** Reads and discards the rest: closing immediately would reset the connection before the client reads the answer. */
export function discard(req: IncomingMessage): void {
  let discardedBytes = 0
  req.on('data', (piece: Buffer) => {
    discardedBytes += piece.length
    if (discardedBytes > DISCARD_BYTES) req.destroy()
  })
}
