import { FLAGS, type Flag } from '../../schema/ledger.ts'

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

const REQUEST_ID = /^req_[0-9a-f]{24}$/

/** A request id as stored: the digits of an id of this gateway as bytes, any other as it is. */
export function fromRequestId(id: string): Buffer | string {
  return REQUEST_ID.test(id) ? Buffer.from(id.slice(4), 'hex') : id
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
