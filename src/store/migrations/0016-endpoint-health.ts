import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/** What each gateway has seen of each endpoint: news like its row in `gateways`. An endpoint that has not answered has none. */
export const endpointHealth: Migration = {
  async up(db: Kysely<never>) {
    await sql`create table endpoint_health (
      gateway_id text not null,
      endpoint text not null,
      state text not null,
      since_ms integer not null,
      reason text,
      primary key (gateway_id, endpoint)
    ) strict, without rowid`.execute(db)
  },
}
