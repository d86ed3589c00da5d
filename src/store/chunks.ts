/** SQLite accepts at most 32766 parameters in a statement, and PostgreSQL 65535. */
const ROWS_AT_ONCE = 500

/** The rows in parts that fit in a statement. */
export function* chunks<T>(rows: readonly T[], size = ROWS_AT_ONCE): Generator<readonly T[]> {
  for (let start = 0; start < rows.length; start += size) yield rows.slice(start, start + size)
}
