import { JournalDamaged, type NumberedRow } from '../journal/reader.ts'
import { alarmOf, describeRow } from './alarms.ts'
import { type LedgerRows, RowRejected } from './ledger-rows.ts'

/**
 * Commits rows of the journal to the store. A row that the store can never accept is left out.
 * @param foldedRow The last row that is in the store: none may be left out.
 * @returns alarms: each row that was left out, with all that it says.
 * @throws {JournalDamaged} if a row is missing. {Database.SqliteError} if nothing can be written now; nothing was.
 */
export function foldRows(
  batch: readonly NumberedRow[],
  rows: LedgerRows,
  foldedRow: number,
): readonly string[] {
  let expected = foldedRow + 1
  for (const { number } of batch) {
    if (number !== expected) throw new JournalDamaged(`row ${expected} of the journal is missing`)
    expected += 1
  }
  const lastRow = batch.at(-1)?.number
  const alarms: string[] = []
  const left = batch.map(({ row }) => row)
  for (;;) {
    try {
      for (const [index, fault] of rows.write(left, lastRow)) {
        const row = left[index]
        if (row) alarms.push(alarmOf(row, fault))
      }
      return alarms
    } catch (error) {
      if (!(error instanceof RowRejected)) throw error
      const [row] = left.splice(error.index, 1)
      if (row) alarms.push(`${describeRow(row)} cannot be written: ${error.message}`)
    }
  }
}
