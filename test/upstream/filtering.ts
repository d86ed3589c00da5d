import type { AnswerFilter, FilterOptions } from '../../src/upstream/answer/filter.ts'

/** What a filter made of an answer. */
export interface Filtered {
  /** The bytes for the client, in the order in which they would go out. */
  readonly bytes: string
  /** Of these, the ones that waited until the answer had been accounted for. */
  readonly withheld: string
  readonly whole: boolean
  /** Members that were shown to the meter: name and JSON. */
  readonly seen: readonly (readonly [string, string])[]
}

export const SERVED = 'served-model'
/** A name that needs escapes in JSON and more than one byte in UTF-8. */
export const NAME = 'ext/"mödel"\\😀'

/** What the gateway tells a filter of a request. */
export function optionsFor(more: Partial<FilterOptions> = {}): FilterOptions {
  return {
    format: 'chat',
    answers: 1,
    nameJson: Buffer.from(JSON.stringify(NAME)),
    servedModel: SERVED,
    hideUsage: false,
    requestId: 'req_ours',
    observer: { onMember: () => undefined, onText: () => undefined },
    ...more,
  }
}

/** Gives `pieces` to a filter, as the gateway does, and takes the last bytes at the end. */
export function filtered(
  make: (options: FilterOptions) => AnswerFilter,
  pieces: readonly Uint8Array[],
  more: Partial<FilterOptions> = {},
): Filtered {
  const seen: [string, string][] = []
  const observer = {
    onMember: (name: string, json: Buffer) => void seen.push([name, json.toString()]),
    onText: () => undefined,
    onStoredId: (of: string, id: string) => void seen.push([of, id]),
  }
  const filter = make(optionsFor({ observer, ...more }))
  const out: Buffer[] = []
  for (const piece of pieces) out.push(...filter.push(Buffer.from(piece)))
  const whole = filter.end()
  const withheld = Buffer.concat(filter.takeLast())
  return {
    bytes: Buffer.concat([...out, withheld]).toString('latin1'),
    withheld: withheld.toString('latin1'),
    whole,
    seen,
  }
}

/** The bytes of a text as latin1 text: so that a difference is seen, and no byte is lost to decoding. */
export function octets(text: string): string {
  return Buffer.from(text).toString('latin1')
}

/** The pieces of `bytes`, cut at `positions` in any order. */
export function cut(bytes: Uint8Array, positions: readonly number[]): Uint8Array[] {
  const at = [
    0,
    ...positions.map(position => Math.min(position, bytes.length)).sort((a, b) => a - b),
    bytes.length,
  ]
  return at
    .slice(1)
    .map((to, index) => bytes.subarray(at[index], to))
    .filter(piece => piece.length > 0)
}
