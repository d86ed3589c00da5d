import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Personal access tokens of users: each opens the control plane, or a part of it, until it expires or is revoked. */
export const tokens: Migration = {
  async up(db: Kysely<never>) {
    await sql`create table tokens (
      id text primary key not null,
      digest text not null unique check (length(digest) = 64),
      user_id integer not null references users (id) on delete cascade,
      name text not null,
      role text not null check (role in ('admin', 'tenant')),
      tenant text check ((tenant is not null) = (role = 'tenant')),
      scope text not null check (scope in ('read', 'write')),
      created_at_ms integer not null,
      expires_at_ms integer not null,
      used_at_ms integer,
      unique (user_id, name)
    ) strict, without rowid`.execute(db)
  },
}
