import { isUtf8 } from 'node:buffer'

/** Checks that bytes are UTF-8 (RFC 3629). They arrive in pieces, possibly split inside a character. */
export class Utf8Check {
  /** The bytes of the unfinished character at the end of the last piece, at most 3. */
  #rest: Buffer | undefined

  /** @returns false if the bytes cannot be UTF-8. */
  push(piece: Uint8Array): boolean {
    let bytes = piece
    if (this.#rest) {
      bytes = Buffer.concat([this.#rest, piece.subarray(0, 8)])
      const unfinished = unfinishedTail(bytes)
      if (bytes.length - unfinished === 0) {
        this.#rest = Buffer.from(bytes)
        return bytes.length < 4
      }
      // The joined head is checked separately; its bytes of the piece, up to a whole character, are skipped.
      const taken = bytes.length - unfinished - this.#rest.length
      this.#rest = undefined
      if (!isUtf8(bytes.subarray(0, bytes.length - unfinished))) return false
      bytes = piece.subarray(taken)
    }
    const unfinished = unfinishedTail(bytes)
    if (unfinished > 0) this.#rest = Buffer.from(bytes.subarray(bytes.length - unfinished))
    return isUtf8(unfinished > 0 ? bytes.subarray(0, bytes.length - unfinished) : bytes)
  }

  /** @returns whether the last character is complete. */
  end(): boolean {
    return this.#rest === undefined
  }
}

/** The number of bytes at the end that begin a character without completing it. */
function unfinishedTail(bytes: Uint8Array): number {
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back] as number
    if (byte < 0x80) return 0
    if (byte >= 0xc0) return back < sequenceLength(byte) ? back : 0
  }
  return 0
}

function sequenceLength(lead: number): number {
  if (lead >= 0xf0) return 4
  return lead >= 0xe0 ? 3 : 2
}
