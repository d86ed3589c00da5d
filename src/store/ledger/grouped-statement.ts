import type Database from 'better-sqlite3'

export type Value = string | number | bigint | Buffer | null

/** How many rows one statement takes, the most first. */
const GROUPS = [32, 8, 1] as const
const [LARGEST] = GROUPS

export interface GroupedOptions {
  /** The statement for a number of rows. */
  readonly sql: (rows: number) => string
  /** How many parameters a row has. */
  readonly width: number
  /** Runs the statement. `rows` is how many rows the parameters are. */
  readonly run: (statement: Database.Statement, values: readonly Value[], rows: number) => void
}

/**
 * A statement about rows that come one by one. It is run for many of them at once, because a call of SQLite costs as much as
 * most rows. What it does is done only after `flush`.
 */
export class GroupedStatement {
  readonly #raw: Database.Database
  readonly #options: GroupedOptions
  /** By index of {@link GROUPS}; prepared when they are first run. */
  readonly #statements: Database.Statement[] = []
  /** The parameters of the rows that wait, one after another. */
  #values: Value[] = []
  #rows = 0

  constructor(raw: Database.Database, options: GroupedOptions) {
    this.#raw = raw
    this.#options = options
  }

  add(...row: readonly Value[]): void {
    const values = this.#values
    let at = this.#rows * row.length
    for (let index = 0; index < row.length; index++) values[at++] = row[index] as Value
    this.#rows += 1
    if (this.#rows === LARGEST) this.flush()
  }

  /** @throws {Database.SqliteError} {TypeError} {RangeError} for any row of a group. */
  flush(): void {
    if (this.#rows === 0) return
    const values = this.#values
    const { sql, width, run } = this.#options
    let left = this.#rows
    this.clear()
    for (const [index, rows] of GROUPS.entries()) {
      for (; left >= rows; left -= rows) {
        const statement = (this.#statements[index] ??= this.#raw.prepare(sql(rows)))
        run(statement, left === rows ? values : values.splice(0, rows * width), rows)
      }
    }
  }

  /** Forgets the rows that wait. */
  clear(): void {
    this.#values = []
    this.#rows = 0
  }
}

/** No more rows than this wait. */
export const MOST_WAITING: number = LARGEST

/** `?, ?, …` */
export function parameters(count: number): string {
  return repeated(count, '?')
}

/** A text several times, with commas. */
export function repeated(count: number, text: string): string {
  return Array.from({ length: count }, () => text).join(', ')
}

export function runStatement(statement: Database.Statement, values: readonly Value[]): void {
  statement.run(...values)
}
