import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { id, isAppendOnly, isNotTruncated, isNotUpdated, REJECT, text } from './definitions.ts'
import { LEDGER_TABLES } from './ledger-tables.ts'

/**
 * The tables of the migrations of SQLite up to 0013 (`src/store/migrations`, with what each is for), in the form of
 * PostgreSQL: text sorts by bytes, as in SQLite; counts and times are `bigint`; flags are 0 and 1.
 */
export const baseline: Migration = {
  async up(db: Kysely<never>) {
    for (const statement of [REJECT, ...CONTROL_TABLES, ...LEDGER_TABLES])
      await sql.raw(statement).execute(db)
  },
}

const digest = `${text} check (length(digest) = 64)`

const CONTROL_TABLES = [
  // One row: it is also what commits notify about.
  `create table head (
    id bigint primary key check (id = 1),
    revision bigint not null,
    key_version bigint not null,
    states_from bigint not null default 0
  )`,
  `insert into head (id, revision, key_version) values (1, 0, 0)`,
  `create function gw_notify_head() returns trigger language plpgsql as $$
    begin
      perform pg_notify('gw_head', '');
      return null;
    end $$`,
  `create trigger head_is_announced after update on head
    for each row when (old.revision <> new.revision or old.key_version <> new.key_version)
    execute function gw_notify_head()`,

  `create table revisions (
    id bigint primary key,
    base bigint not null check (base = id - 1),
    set_name ${text},
    origin ${text} not null,
    author ${text},
    git_commit ${text},
    created_at_ms bigint not null,
    counts ${text} not null,
    restores bigint
  )`,
  isAppendOnly('revisions', 'revisions are append-only'),
  `create function gw_append_revision() returns trigger language plpgsql as $$
    begin
      if new.id <> coalesce((select max(id) from revisions), 0) + 1 then
        raise exception 'revisions are append-only';
      end if;
      return new;
    end $$`,
  `create trigger revisions_are_appended before insert on revisions
    for each row execute function gw_append_revision()`,

  // Retention moves `states_from` forward and deletes the rows that only older states need.
  `create table revision_changes (
    revision bigint not null,
    kind ${text} not null,
    name ${text} not null,
    before_spec ${text},
    before_owner ${text},
    before_set_name ${text},
    before_source_file ${text},
    before_source_line bigint,
    before_created_revision bigint,
    before_updated_revision bigint,
    before_created_at_ms bigint,
    before_account ${text},
    made_file ${text},
    made_line bigint,
    primary key (revision, kind, name)
  )`,
  isNotUpdated('revision_changes', 'revisions are append-only'),
  isNotTruncated('revision_changes', 'revisions are append-only'),
  `create function gw_keep_change() returns trigger language plpgsql as $$
    begin
      if old.revision > (select states_from from head) then
        raise exception 'revisions are append-only';
      end if;
      return old;
    end $$`,
  `create trigger revision_changes_are_kept before delete on revision_changes
    for each row execute function gw_keep_change()`,
  `create function gw_append_change() returns trigger language plpgsql as $$
    begin
      if new.revision <> (select max(id) from revisions) then
        raise exception 'revisions are append-only';
      end if;
      return new;
    end $$`,
  `create trigger revision_changes_are_appended before insert on revision_changes
    for each row execute function gw_append_change()`,

  // The type json, not jsonb: canonical text is compared byte by byte.
  `create table resources (
    kind ${text} not null,
    name ${text} not null,
    spec json not null,
    owner ${text} not null check (owner in ('config', 'cli', 'rest')),
    set_name ${text} check ((set_name is not null) = (owner = 'config')),
    source_file ${text},
    source_line bigint,
    created_revision bigint not null references revisions (id),
    updated_revision bigint not null references revisions (id),
    created_at_ms bigint not null,
    account ${text},
    constraint resources_are_named_once primary key (kind, name)
  )`,

  `create table accounts (
    kind ${text} not null,
    account ${text} not null,
    name ${text} not null,
    primary key (kind, account)
  )`,
  `create index accounts_by_name on accounts (kind, name)`,

  `create table key_secrets (
    id ${id},
    key_name ${text} not null,
    digest ${text} not null unique check (digest ~ '^[0-9a-f]{64}$'),
    created_at_ms bigint not null,
    expires_at_ms bigint,
    revoked_at_ms bigint
  )`,
  `create index key_secrets_by_key on key_secrets (key_name)`,

  `create table key_suspensions (
    key_name ${text} primary key,
    suspended_at_ms bigint not null
  )`,

  `create table maintenance (
    id bigint primary key check (id = 1),
    message ${text},
    author ${text},
    since_ms bigint not null
  )`,

  `create table gateways (
    id ${text} primary key,
    pid bigint not null,
    host ${text} not null,
    version ${text},
    url ${text},
    started_at_ms bigint not null,
    seen_at_ms bigint not null,
    revision bigint not null,
    key_version bigint not null,
    rejected_revision bigint,
    rejection ${text},
    followed_paths ${text},
    followed_watch integer,
    supervisor_pid bigint
  )`,

  `create table endpoint_health (
    gateway_id ${text} not null,
    endpoint ${text} not null,
    state ${text} not null,
    since_ms bigint not null,
    reason ${text},
    primary key (gateway_id, endpoint)
  )`,

  `create table users (
    id ${id},
    name ${text} not null unique,
    role ${text} not null check (role in ('admin', 'tenant')),
    tenant ${text} check ((tenant is not null) = (role = 'tenant')),
    enabled integer not null check (enabled in (0, 1)),
    password_hash ${text} not null,
    created_at_ms bigint not null,
    last_login_at_ms bigint,
    version bigint not null
  )`,

  `create table sessions (
    digest ${digest} primary key,
    user_id bigint not null references users (id) on delete cascade,
    carrier ${text} not null check (carrier in ('bearer', 'cookie')),
    address ${text} not null,
    created_at_ms bigint not null,
    used_at_ms bigint not null
  )`,
  `create index sessions_by_user on sessions (user_id, created_at_ms)`,

  `create table tokens (
    id ${text} primary key,
    digest ${digest} not null unique,
    user_id bigint not null references users (id) on delete cascade,
    name ${text} not null,
    role ${text} not null check (role in ('admin', 'tenant')),
    tenant ${text} check ((tenant is not null) = (role = 'tenant')),
    scope ${text} not null check (scope in ('read', 'write')),
    created_at_ms bigint not null,
    expires_at_ms bigint not null,
    used_at_ms bigint,
    unique (user_id, name)
  )`,

  `create table login_links (
    digest ${digest} primary key,
    user_id bigint not null references users (id) on delete cascade,
    expires_at_ms bigint not null
  )`,
  `create index login_links_by_user on login_links (user_id)`,

  `create table login_origins (
    user_id bigint not null references users (id) on delete cascade,
    origin ${text} not null,
    used_at_ms bigint not null,
    primary key (user_id, origin)
  )`,

  `create table audit (
    id ${id},
    at_ms bigint not null,
    user_name ${text} not null,
    role ${text} not null,
    origin ${text} not null check (origin in ('rest', 'cli')),
    address ${text},
    action ${text} not null,
    target ${text},
    revision bigint,
    request_id ${text},
    reason ${text}
  )`,
  `create index audit_by_user on audit (user_name, id)`,
  `create index audit_by_target on audit (target, id)`,
  `create index audit_by_action on audit (action, id)`,
  isAppendOnly('audit', 'the audit is append-only'),

  `create table stored_secrets (
    id ${text} primary key,
    bound_to ${text} not null,
    nonce bytea not null,
    sealed bytea not null,
    created_at_ms bigint not null
  )`,

  `create table node_join_tokens (
    id ${text} primary key,
    digest ${text} not null unique,
    pattern ${text} not null,
    labels ${text} not null,
    uses_left bigint not null check (uses_left >= 0),
    created_at_ms bigint not null,
    expires_at_ms bigint not null,
    created_by ${text}
  )`,
  `create table node_credentials (
    node ${text} primary key,
    family ${text} not null,
    digest ${text} not null unique,
    issued_at_ms bigint not null,
    next_digest ${text} unique,
    next_issued_at_ms bigint,
    labels ${text} not null,
    joined_at_ms bigint not null
  )`,
  `create table node_retired_credentials (
    digest ${text} primary key,
    node ${text} not null,
    retired_at_ms bigint not null
  )`,
  `create index node_retired_credentials_by_node on node_retired_credentials (node)`,
  `create table node_drains (node ${text} primary key, since_ms bigint not null)`,
  `create table node_connections (
    node ${text} not null,
    gateway_id ${text} not null,
    address ${text} not null,
    version ${text} not null,
    connected_at_ms bigint not null,
    seen_at_ms bigint not null,
    engines ${text} not null,
    primary key (node, gateway_id)
  )`,
]
