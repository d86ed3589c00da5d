import { FLAGS, type Flag, type Usage } from '../../schema/ledger.ts'

/** An amount of money in two columns, each of 64 bits, is `units` × this + `nano`. */
export const NANO_PER_UNIT = 1_000_000_000
const NANO = BigInt(NANO_PER_UNIT)

/** An amount of money as selected: cast to text, so that no digit is lost. Null if there was nothing to add. */
export interface NanoParts {
  readonly units: string | null
  readonly nano: string | null
}

export function toNano(parts: NanoParts | undefined): bigint {
  return BigInt(parts?.units ?? 0) * NANO + BigInt(parts?.nano ?? 0)
}

export function parts(nano: bigint): readonly [units: bigint, rest: bigint] {
  return [nano / NANO, nano % NANO]
}

/** The codes of `ledger.kind`. Those up to `release` are the ends of calls. */
export const KINDS = ['settle', 'release', 'credit', 'debit', 'adjust'] as const
export type EntryKind = (typeof KINDS)[number]
export const codeOf = (kind: EntryKind): number => KINDS.indexOf(kind)

/** The columns of what a call has used, in the ledger, the call log and every table of sums. */
export const USAGE_COLUMNS = [
  'input_tokens',
  'cached_input_tokens',
  'cache_write_tokens',
  'output_tokens',
  'search_units',
  'duration_ms',
  'characters',
  'images',
] as const

export type UsageCells = Readonly<Record<(typeof USAGE_COLUMNS)[number], number | null>>

/** Of a row, or of the JSON of one. */
export function toUsage(row: { readonly [Column in keyof UsageCells]?: number | null | undefined }): Usage {
  return {
    inputTokens: row.input_tokens ?? 0,
    cachedInputTokens: row.cached_input_tokens ?? 0,
    cacheWriteTokens: row.cache_write_tokens ?? 0,
    outputTokens: row.output_tokens ?? 0,
    searchUnits: row.search_units ?? 0,
    durationMs: row.duration_ms ?? 0,
    characters: row.characters ?? 0,
    images: row.images ?? 0,
  }
}

/** Bits of `flags`. */
export const ESTIMATED = 1 << FLAGS.indexOf('estimated')
export const UNPRICED = 1 << FLAGS.indexOf('unpriced')

export function fromFlags(flags: readonly Flag[]): number {
  let bits = 0
  for (const flag of flags) bits |= 1 << FLAGS.indexOf(flag)
  return bits
}

export function toFlags(bits: number): readonly Flag[] {
  return bits === 0 ? [] : FLAGS.filter((_, at) => bits & (1 << at))
}

const REQUEST_PREFIX = 'req_'
const REQUEST_BYTES = 12
const REQUEST_LENGTH = REQUEST_PREFIX.length + 2 * REQUEST_BYTES

/** The values of hexadecimal digits by their codes; −1 for all others. */
const DIGITS = Int8Array.from({ length: 256 }, (_, code) =>
  '0123456789abcdef'.indexOf(String.fromCharCode(code)),
)

/** A request id as stored: the digits of an id of this gateway as bytes, any other as it is. */
export function fromRequestId(id: string): Buffer | string {
  return digitsInto(Buffer.alloc(REQUEST_BYTES), id)
}

/** As {@link fromRequestId}, for ids of which the last `count` are needed: their bytes are used again. */
export class RequestIdBytes {
  readonly #buffers: readonly Buffer[]
  #next = 0

  constructor(count: number) {
    this.#buffers = Array.from({ length: count }, () => Buffer.alloc(REQUEST_BYTES))
  }

  of(id: string): Buffer | string {
    const bytes = this.#buffers[this.#next] as Buffer
    this.#next = (this.#next + 1) % this.#buffers.length
    return digitsInto(bytes, id)
  }
}

function digitsInto(bytes: Buffer, id: string): Buffer | string {
  if (id.length !== REQUEST_LENGTH || !id.startsWith(REQUEST_PREFIX)) return id
  for (let at = 0; at < REQUEST_BYTES; at++) {
    const from = REQUEST_PREFIX.length + 2 * at
    const high = digit(id, from)
    const low = digit(id, from + 1)
    if (high < 0 || low < 0) return id
    bytes[at] = high * 16 + low
  }
  return bytes
}

function digit(id: string, at: number): number {
  return DIGITS[id.charCodeAt(at)] ?? -1
}

/** An expression for the request id of a row. */
export function requestIdOf(column: string): string {
  return `iif(typeof(${column}) = 'blob', 'req_' || lower(hex(${column})), ${column})`
}

/** An expression for the name that a column has the number of. */
export function nameOf(column: string): string {
  return `(select name from ledger_names where ledger_names.id = ${column})`
}

/** A whole number: a bigint only where a number would lose digits, because bigints cost an allocation each. */
export type Whole = number | bigint

export function plus(a: Whole, b: Whole): Whole {
  if (typeof a === 'number' && typeof b === 'number') {
    const sum = a + b
    if (Number.isSafeInteger(sum)) return sum
  }
  return BigInt(a) + BigInt(b)
}

/** Input, cached, written and output tokens, search units, duration, characters and images. */
export function usageColumns(usage: Usage | undefined): (number | null)[] {
  if (!usage) return NO_USAGE
  return [
    usage.inputTokens,
    usage.cachedInputTokens,
    usage.cacheWriteTokens,
    usage.outputTokens,
    usage.searchUnits,
    usage.durationMs,
    usage.characters,
    usage.images,
  ]
}

const NO_USAGE: null[] = Array.from({ length: 8 }, () => null)
