import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/**
 * The price that a bill was made by. Prices change, and a configuration tells only what they are now; with the price
 * beside its usage every bill can be computed again.
 */
export const prices: Migration = {
  async up(db: Kysely<never>) {
    for (const statement of STATEMENTS) await statement.execute(db)
  },
}

const STATEMENTS: readonly RawBuilder<unknown>[] = [
  sql`create table ledger_prices (
    id integer primary key,
    price text not null unique
  ) strict`,
  sql`create trigger ledger_prices_are_not_updated before update on ledger_prices
    begin select raise(abort, 'the ledger is append-only'); end`,
  sql`create trigger ledger_prices_are_not_deleted before delete on ledger_prices
    begin select raise(abort, 'the ledger is append-only'); end`,
  // Of settlements, from this version on; null where they had no price.
  sql`alter table ledger add column price_id integer`,
  sql`alter table open_holds add column price_id integer`,
]
