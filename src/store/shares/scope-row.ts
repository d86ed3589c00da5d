import type { ScopeKind } from '../../schema/shares.ts'
import type { ScopeState } from './rules.ts'

/** A row of `scopes`. Numbers of units are text: JavaScript would round them. */
export interface ScopeRow {
  readonly kind: ScopeKind
  readonly bound: string
  readonly per_minute: string
  readonly revision: number
  readonly since_ms: number
  readonly level: string
  readonly at_ms: number
  readonly leased: string
  readonly wanted: string
}

export function toScopeState(row: ScopeRow): ScopeState {
  return {
    kind: row.kind,
    bound: BigInt(row.bound),
    perMinute: BigInt(row.per_minute),
    revision: row.revision,
    sinceMs: row.since_ms,
    level: BigInt(row.level),
    atMs: row.at_ms,
    leased: BigInt(row.leased),
    wanted: BigInt(row.wanted),
  }
}
