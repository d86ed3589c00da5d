import Database from 'better-sqlite3'

/** The journal that belongs to a store. */
export interface JournalState {
  /** Hexadecimal. */
  readonly journalId: string
  /** The last row of the journal that is in the store. */
  readonly foldedRow: number
}

/** Undefined in a store from before there were journals. */
export function journalState(raw: Database.Database): JournalState | undefined {
  if (!hasJournal(raw)) return undefined
  return raw
    .prepare('select journal_id as journalId, folded_row as foldedRow from journal')
    .get() as JournalState
}

/**
 * Gives a copy of a store a journal of its own: rows that the former gateways have written since are not for it, and are
 * rejected if they are found beside it.
 */
export function renewJournal(path: string): void {
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
