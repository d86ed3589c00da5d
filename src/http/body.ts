import type { IncomingMessage } from 'node:http'
import { REFUSED } from './connection.ts'
import type { HttpRefusal } from './refusal.ts'

/** Why a body was not read to its end: what is wrong with its size, with its bytes, or with how it came. */
export type BodyFault = 'too_large' | 'unwanted' | 'aborted' | HttpRefusal

export type BodyRead =
  | { readonly ok: true; readonly pieces: readonly Buffer[]; readonly lengthBytes: number }
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
 * A declared length over the limit is refused before a byte is read: a client that is still sending would get a
 * reset instead of its answer.
 */
export function readBody(
  req: IncomingMessage,
  limitBytes: number,
  onPiece: (piece: Buffer) => boolean,
): Promise<BodyRead> {
  if ((declaredLength(req) ?? 0) > limitBytes) return Promise.resolve({ ok: false, fault: 'too_large' })
  return new Promise(resolve => {
    const pieces: Buffer[] = []
    let lengthBytes = 0
    /** Taking a listener off costs more than to hear it in vain: only what must not answer any more is taken off. */
    let over = false
    const settle = (read: BodyRead) => {
      if (over) return
      over = true
      req.off(REFUSED, refuse)
      resolve(read)
    }
    const take = (piece: Buffer) => {
      if (over) return
      lengthBytes += piece.length
      const fault = lengthBytes > limitBytes ? 'too_large' : onPiece(piece) ? undefined : 'unwanted'
      if (fault) {
        discard(req)
        return settle({ ok: false, fault })
      }
      pieces.push(piece)
    }
    const finish = () => settle({ ok: true, pieces, lengthBytes })
    const abandon = () => settle({ ok: false, fault: 'aborted' })
    const refuse = (refusal: HttpRefusal) => settle({ ok: false, fault: refusal })
    req.on('data', take).on('end', finish).on('close', abandon).on(REFUSED, refuse)
  })
}

/** How much of a refused body is read and thrown away, so that its sender can read why. */
const DISCARD_BYTES = 67_108_864

/** Reads on without keeping anything: cutting at once would reset the connection under the refusal. */
function discard(req: IncomingMessage): void {
  let discardedBytes = 0
  req.on('data', (piece: Buffer) => {
    discardedBytes += piece.length
    if (discardedBytes > DISCARD_BYTES) req.destroy()
  })
}
