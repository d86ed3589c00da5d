import type { Flag } from '../../schema/ledger.ts'

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

export function fromFlags(flags: readonly Flag[]): string {
  return flags.join(',')
}

export function toFlags(text: string | null): readonly Flag[] {
  return text ? (text.split(',') as Flag[]) : []
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
