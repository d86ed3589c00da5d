import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Nodes that dial in: their join tokens, credentials, drains, and where they are connected. */
export const nodes: Migration = {
  async up(db: Kysely<never>) {
    const statements = [
      sql`create table node_join_tokens (
        id text primary key,
        digest text not null unique,
        pattern text not null,
        labels text not null check (json_valid(labels)),
        uses_left integer not null check (uses_left >= 0),
        created_at_ms integer not null,
        expires_at_ms integer not null,
        created_by text
      ) strict`,
      sql`create table node_credentials (
        node text primary key,
        family text not null,
        digest text not null unique,
        issued_at_ms integer not null,
        next_digest text unique,
        next_issued_at_ms integer,
        labels text not null check (json_valid(labels)),
        joined_at_ms integer not null
      ) strict`,
      sql`create table node_retired_credentials (
        digest text primary key,
        node text not null,
        retired_at_ms integer not null
      ) strict, without rowid`,
      sql`create index node_retired_credentials_by_node on node_retired_credentials (node)`,
      sql`create table node_drains (node text primary key, since_ms integer not null) strict`,
      sql`create table node_connections (
        node text not null,
        gateway_id text not null,
        address text not null,
        version text not null,
        connected_at_ms integer not null,
        seen_at_ms integer not null,
        engines text not null check (json_valid(engines)),
        primary key (node, gateway_id)
      ) strict, without rowid`,
    ]
    for (const statement of statements) await statement.execute(db)
  },
}
