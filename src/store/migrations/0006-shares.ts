import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/**
 * The tables of the grantor: the instances that share the limits, what is leased of each limit, and to whom. Amounts are
 * decimal text: money may exceed 64 bits, and only the rules of the grantor calculate with them.
 */
export const shares: Migration = {
  async up(db: Kysely<never>) {
    await sql`create table instances (
      id text primary key not null,
      number integer not null,
      expires_at_ms integer,
      is_fenced integer not null check (is_fenced in (0, 1))
    ) strict, without rowid`.execute(db)
    await sql`create table scopes (
      owner text not null,
      limit_name text not null,
      kind text not null check (kind in ('sum', 'rate', 'permits')),
      bound text not null,
      per_minute text not null,
      revision integer not null,
      since_ms integer not null,
      level text not null check (level not like '-%'),
      at_ms integer not null,
      leased text not null check (leased not like '-%'),
      wanted text not null check (wanted not like '-%'),
      primary key (owner, limit_name)
    ) strict, without rowid`.execute(db)
    await sql`create index scopes_wanted on scopes (owner, limit_name) where wanted <> '0'`.execute(db)
    await sql`create table shares (
      instance text not null references instances (id),
      owner text not null,
      limit_name text not null,
      amount text not null check (amount not like '-%' and amount <> '0'),
      primary key (instance, owner, limit_name),
      foreign key (owner, limit_name) references scopes (owner, limit_name)
    ) strict, without rowid`.execute(db)
  },
}
