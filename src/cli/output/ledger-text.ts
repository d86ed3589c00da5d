import type { Json } from '../../schema/kinds.ts'
import type { LedgerChecked } from '../../services/ledger.ts'
import type { Finding } from '../../store/ledger/types.ts'
import { printable, type Style } from './style.ts'

/** Each inconsistent row, after the name of its table. */
export function findingsToText(findings: readonly Finding[], style: Style): string {
  return findings
    .map(({ table, row, problem }) => `${style.fault(printable(`${table} ${row}`))}: ${printable(problem)}\n`)
    .join('')
}

export function findingsToJson(findings: readonly Finding[]): Json {
  return findings.map(({ table, row, problem }) => ({ table, row, problem }))
}

export function checkedToJson({ entries, openHolds, accounts }: LedgerChecked): {
  readonly [member: string]: Json
} {
  return { entries, open_holds: openHolds, accounts }
}
