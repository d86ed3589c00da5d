import type Database from 'better-sqlite3'

/**
 * Texts that rows refer to by number, because there are few of them and many rows. In memory, and added to their table when
 * they are first used.
 */
export class Interned {
  readonly #add: Database.Statement
  readonly #find: Database.Statement<[string], number>
  /** By text: committed, or of the current batch. */
  readonly #ids = new Map<string, number>()

  constructor(raw: Database.Database, table: 'ledger_names' | 'ledger_prices', column: string) {
    this.#add = raw.prepare(`insert into ${table} (${column}) values (?) on conflict do nothing`)
    this.#find = raw.prepare<[string], number>(`select id from ${table} where ${column} = ?`).pluck()
  }

  idOf(text: string): number {
    const known = this.#ids.get(text)
    if (known !== undefined) return known
    let id = this.#find.get(text)
    if (id === undefined) {
      this.#add.run(text)
      id = this.#find.get(text) as number
    }
    this.#ids.set(text, id)
    return id
  }

  /** The batch was not committed. */
  rollBack(): void {
    this.#ids.clear()
  }
}
