import type { Flag } from '../../schema/ledger.ts'

/** An amount of money in two columns, each of 64 bits, is `units` × this + `nano` (migration 0003). */
const NANO_PER_UNIT = 1_000_000_000n

/** An amount of money as selected: cast to text, so that no digit is lost. Null if there was nothing to add. */
export interface NanoParts {
  readonly units: string | null
  readonly nano: string | null
}

export function toNano(parts: NanoParts | undefined): bigint {
  return BigInt(parts?.units ?? 0) * NANO_PER_UNIT + BigInt(parts?.nano ?? 0)
}

export function parts(nano: bigint): readonly [units: bigint, rest: bigint] {
  return [nano / NANO_PER_UNIT, nano % NANO_PER_UNIT]
}

export function fromFlags(flags: readonly Flag[]): string {
  return flags.join(',')
}

export function toFlags(text: string | null): readonly Flag[] {
  return text ? (text.split(',') as Flag[]) : []
}
