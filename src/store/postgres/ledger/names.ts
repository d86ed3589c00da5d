import { textArray } from './array-literals.ts'
import type { Database } from './lane-connection.ts'

/**
 * Synced, because their numbers are kept in memory. A text that is in no other statement's snapshot yet is neither found nor added: then it is asked for again.
 */
const statement = (table: string, column: string) => `
  with setting as materialized (select set_config('synchronous_commit', 'on', true)),
  wanted as (select unnest($1::text[]) collate "C" as text from setting),
  found as (select id, ${column} as text from ${table} where ${column} in (select text from wanted)),
  added as (
    insert into ${table} (${column}) select text from wanted where text not in (select text from found)
    order by text on conflict do nothing returning id, ${column} as text)
  select id, text from found union all select id, text from added`

/** Texts that rows refer to by number, because there are few of them and many rows. In memory, and in their table. */
export class Interned {
  readonly #statement: string
  readonly #ids = new Map<string, number>()

  constructor(table: 'ledger_names' | 'ledger_prices', column: 'name' | 'price') {
    this.#statement = statement(table, column)
  }

  /** After it, {@link idOf} knows these texts. */
  async load(db: Database, texts: Iterable<string | undefined>): Promise<void> {
    const missing = new Set<string>()
    for (const text of texts) if (text !== undefined && !this.#ids.has(text)) missing.add(text)
    while (missing.size > 0) {
      const { rows } = await db.query(this.#statement, [textArray([...missing])])
      for (const [id, text] of rows as [number, string][]) {
        this.#ids.set(text, id)
        missing.delete(text)
      }
    }
  }

  /** @throws if it was not loaded. */
  idOf(text: string): number {
    const id = this.#ids.get(text)
    if (id === undefined) throw new Error(`${text} has no number yet`)
    return id
  }

  idOrNull(text: string | undefined): number | null {
    return text === undefined ? null : this.idOf(text)
  }
}
