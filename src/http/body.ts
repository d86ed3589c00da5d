import type { IncomingMessage } from 'node:http'
import { REJECTED } from './connection.ts'
import type { HttpRejection } from './rejection.ts'

/** Why a body was not read to its end: what is wrong with its size, with its bytes, or with how it came. */
export type BodyFault = 'too_large' | 'unwanted' | 'aborted' | HttpRejection

export type BodyRead =
  | { readonly ok: true; readonly pieces: Buffer[]; readonly lengthBytes: number }
  | { readonly ok: false; readonly fault: BodyFault }

/** What a body says about itself before its first byte; undefined where it is chunked. */
function declaredLength(req: IncomingMessage): number | undefined {
  const text = req.headers['content-length']
  return text === undefined ? undefined : Number(text)
}

/**
 * Reads a body in the pieces in which it comes, without joining them. `onPiece` sees each piece once, as it comes,
 * so that checking a large body costs no long stop at its end; it may say that no more is wanted.
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
 * A body on its way. Taking listeners off costs more than to hear them in vain, so they stay until the answer has
 * gone, which may be hours: what was read, and who wanted it, is let go of as soon as it has been told.
 */
class BodyReader {
  readonly #req: IncomingMessage
  readonly #limitBytes: number
  #onPiece: ((piece: Buffer) => boolean) | undefined
  /** Undefined once it has been told. */
  #resolve: ((read: BodyRead) => void) | undefined
  #pieces: Buffer[] = []
  #lengthBytes = 0

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
    if (!fault) return void this.#pieces.push(piece)
    discard(this.#req)
    this.#settle({ ok: false, fault })
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

/** How much of a rejected body is read and thrown away, so that its sender can read why. */
const DISCARD_BYTES = 67_108_864

/** Reads on without keeping anything: cutting at once would reset the connection under the rejection. */
function discard(req: IncomingMessage): void {
  let discardedBytes = 0
  req.on('data', (piece: Buffer) => {
    discardedBytes += piece.length
    if (discardedBytes > DISCARD_BYTES) req.destroy()
  })
}
