import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Which files a gateway applies by itself, so that `gw rollback` can say what will undo it. */
export const followedFiles: Migration = {
  async up(db: Kysely<never>) {
    await sql`alter table gateways add column followed_paths text`.execute(db)
    await sql`alter table gateways add column followed_watch integer`.execute(db)
  },
}
