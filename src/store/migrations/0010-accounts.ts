import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/**
 * The account of a resource: under what its usage, its spend and its wallet are booked. It is the name under which the
 * resource came, and stays when that changes, because entries of a ledger never do.
 *
 * `accounts` has those that are not called what they are: which name each had last.
 */
export const accounts: Migration = {
  async up(db: Kysely<never>) {
    await sql`alter table resources add column account text`.execute(db)
    await sql`create table accounts (
      kind text not null,
      account text not null,
      name text not null,
      primary key (kind, account)
    ) strict, without rowid`.execute(db)
    await sql`create index accounts_by_name on accounts (kind, name)`.execute(db)
  },
}
