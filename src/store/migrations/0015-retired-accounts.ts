import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/**
 * The accounts of tenants and keys that are gone: what comes later under their names is booked by itself. Users of
 * tenants that are gone may not log in for a later one.
 */
export const retiredAccounts: Migration = {
  async up(db: Kysely<never>) {
    for (const [kind, table, column] of BOOKED) {
      await sql`insert or ignore into accounts (kind, account, name)
        select distinct ${kind}, ${sql.ref(column)}, ${sql.ref(column)} from ${sql.table(table)}
        where ${sql.ref(column)} not in
          (select coalesce(account, name) from resources where kind = ${kind})`.execute(db)
    }
    const stranded = sql`role = 'tenant' and tenant not in (select name from resources where kind = 'tenant')`
    await sql`delete from sessions where user_id in (select id from users where ${stranded})`.execute(db)
    await sql`update users set enabled = 0, version = version + 1 where enabled = 1 and ${stranded}`.execute(
      db,
    )
  },
}

const BOOKED = [
  ['tenant', 'wallets', 'tenant'],
  ['key', 'key_totals', 'key_name'],
] as const
