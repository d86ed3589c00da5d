import Database from 'better-sqlite3'

/** The journal of a lane. */
export interface JournalState {
  /** Hexadecimal. */
  readonly journalId: string
  /** The last row of the journal that is in the store. */
  readonly foldedRow: number
}

/** The journals of a store, by lane. None in a store from before there were journals. */
export function journalStates(raw: Database.Database): ReadonlyMap<number, JournalState> {
  if (!hasJournal(raw)) return new Map()
  // A store from before there were lanes has one journal.
  const rows = raw.prepare('select * from journal').all() as {
    readonly lane?: number
    readonly journal_id: string
    readonly folded_row: number
  }[]
  return new Map(
    rows.map(({ lane = 0, journal_id, folded_row }) => [
      lane,
      { journalId: journal_id, foldedRow: folded_row },
    ]),
  )
}

/** The journal of a lane, which gets one if it has none. */
export function journalOf(raw: Database.Database, lane: number): JournalState {
  const known = journalStates(raw).get(lane)
  if (known) return known
  raw
    .prepare(
      `insert into journal (lane, journal_id, folded_row) values (?, lower(hex(randomblob(16))), 0)
      on conflict do nothing`,
    )
    .run(lane)
  return journalOf(raw, lane)
}

/**
 * Gives a copy of a store journals of its own: rows that the former gateways have written since are not for it, and are
 * rejected if they are found beside it.
 */
export function renewJournals(path: string): void {
  const raw = new Database(path, { fileMustExist: true })
  try {
    if (hasJournal(raw))
      raw.exec(`update journal set journal_id = lower(hex(randomblob(16))), folded_row = 0`)
  } finally {
    raw.close()
  }
}

function hasJournal(raw: Database.Database): boolean {
  return (
    raw.prepare(`select 1 from sqlite_schema where type = 'table' and name = 'journal'`).get() !== undefined
  )
}
