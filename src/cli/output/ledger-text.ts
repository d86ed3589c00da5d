import { iso } from '../../base/iso.ts'
import type { Json } from '../../schema/kinds.ts'
import type { LedgerChecked } from '../../services/ledger-broken.ts'
import type { Archive, Finding } from '../../store/ledger/types.ts'
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

export function checkedToJson({ entries, archived, openHolds, unfoldedRows, accounts }: LedgerChecked): {
  readonly [member: string]: Json
} {
  return { entries, archived, open_holds: openHolds, unfolded_rows: unfoldedRows, accounts }
}

/** The JSON of an archive. */
export type ArchiveShown = ReturnType<typeof archiveToJson>

export function archiveToJson(archive: Archive) {
  return {
    before: iso(archive.beforeMs).slice(0, 7),
    entries: archive.entries,
    first_id: archive.firstId,
    last_id: archive.lastId,
    file: archive.file,
    bytes: archive.bytes,
    sha256: archive.sha256,
    archived_at: iso(archive.archivedAtMs),
  }
}
