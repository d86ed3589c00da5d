import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/** People who may log in to the control plane, their sessions, what they have changed, and secrets they gave. */
export const people: Migration = {
  async up(db: Kysely<never>) {
    for (const statement of STATEMENTS) await statement.execute(db)
  },
}

const STATEMENTS: readonly RawBuilder<unknown>[] = [
  sql`create table users (
    id integer primary key,
    name text not null unique,
    role text not null check (role in ('admin', 'tenant')),
    tenant text check ((tenant is not null) = (role = 'tenant')),
    enabled integer not null check (enabled in (0, 1)),
    password_hash text not null,
    created_at_ms integer not null,
    last_login_at_ms integer,
    version integer not null
  ) strict`,

  // A token is a secret: only its SHA-256 is kept.
  sql`create table sessions (
    digest text primary key not null check (length(digest) = 64),
    user_id integer not null references users (id) on delete cascade,
    carrier text not null check (carrier in ('bearer', 'cookie')),
    address text not null,
    created_at_ms integer not null,
    used_at_ms integer not null
  ) strict, without rowid`,
  sql`create index sessions_by_user on sessions (user_id, created_at_ms)`,

  // Names and not ids: what somebody did stays told when they are gone.
  sql`create table audit (
    id integer primary key,
    at_ms integer not null,
    user_name text not null,
    role text not null,
    origin text not null check (origin in ('rest', 'cli')),
    address text,
    action text not null,
    target text,
    revision integer,
    request_id text
  ) strict`,
  sql`create index audit_by_user on audit (user_name, id)`,
  sql`create trigger audit_is_not_updated before update on audit
    begin select raise(abort, 'the audit is append-only'); end`,
  sql`create trigger audit_is_not_deleted before delete on audit
    begin select raise(abort, 'the audit is append-only'); end`,
  // Without this one \`insert or replace\` would rewrite history: it deletes without firing delete triggers.
  sql`create trigger audit_is_appended before insert on audit
    when new.id is not null and new.id <> -1 and new.id <= (select max(id) from audit)
    begin select raise(abort, 'the audit is append-only'); end`,

  // Sealed outside of the database, with a key that is not in it.
  sql`create table stored_secrets (
    id text primary key not null,
    bound_to text not null,
    nonce blob not null,
    sealed blob not null,
    created_at_ms integer not null
  ) strict, without rowid`,
]
