import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/**
 * Tokens kept the old name of a renamed tenant, and so would have belonged to the next tenant of that name. Gateways of the
 * version before may go on: such tokens give them no rights, or those of the wrong tenant.
 */
export const staleTokens: Migration = {
  async up(db: Kysely<never>) {
    await sql`
      delete from tokens where tenant is not null and not exists (
        select 1 from resources r
        where r.kind = 'tenant' and r.name = tokens.tenant and r.created_at_ms <= tokens.created_at_ms)`.execute(
      db,
    )
  },
}
