import type { Kysely, Selectable } from 'kysely'
import { CommandError } from '../base/catalogue/command.ts'
import type { Resource } from '../schema/kinds.ts'
import { chunks } from './chunks.ts'
import { NO_LIMIT } from './pages.ts'
import { assertExists } from './resources.ts'
import type { KeySecretsTable, Tables } from './tables.ts'
import type { Commit, KeySuspension, StoredResource, StoredSecret } from './types.ts'

/** The number of active secrets of a key: neither revoked nor past their grace period. */
async function countActive(db: Kysely<Tables>, key: string, nowMs: number): Promise<number> {
  const { count } = await active(db, key, nowMs)
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

function active(db: Kysely<Tables>, key: string, nowMs: number) {
  return db
    .selectFrom('key_secrets')
    .where('key_name', '=', key)
    .where('revoked_at_ms', 'is', null)
    .where(row => row.or([row('expires_at_ms', 'is', null), row('expires_at_ms', '>', nowMs)]))
}

/** For more keys than this all rows are read: SQLite accepts at most 32766 parameters in a statement. */
const NAMES_AT_ONCE = 5_000

/** All secrets ever minted for existing keys, oldest first; without digests. */
export async function selectSecrets(db: Kysely<Tables>, ofKeys?: readonly string[]): Promise<StoredSecret[]> {
  let query = db
    .selectFrom('key_secrets')
    .innerJoin('resources', join =>
      join.onRef('resources.name', '=', 'key_secrets.key_name').on('resources.kind', '=', 'key'),
    )
    .selectAll('key_secrets')
    .orderBy('id')
  if (ofKeys && ofKeys.length <= NAMES_AT_ONCE) query = query.where('key_name', 'in', ofKeys)
  return only(ofKeys, (await query.execute()).map(toSecret))
}

export async function selectSuspensions(
  db: Kysely<Tables>,
  ofKeys?: readonly string[],
): Promise<KeySuspension[]> {
  let query = db.selectFrom('key_suspensions').selectAll().orderBy('key_name')
  if (ofKeys && ofKeys.length <= NAMES_AT_ONCE) query = query.where('key_name', 'in', ofKeys)
  const rows = await query.execute()
  return only(
    ofKeys,
    rows.map(row => ({ key: row.key_name, suspendedAtMs: row.suspended_at_ms })),
  )
}

function only<Of extends { readonly key: string }>(keys: readonly string[] | undefined, all: Of[]): Of[] {
  if (!keys) return all
  const wanted = new Set(keys)
  return all.filter(({ key }) => wanted.has(key))
}

/**
 * Adds the first secret of a key.
 * @throws {CommandError} not_found, has_secret
 */
export async function insertFirstSecret(
  db: Kysely<Tables>,
  key: string,
  digest: string,
  nowMs: number,
): Promise<StoredSecret> {
  await assertExists(db, 'key', key)
  if ((await countActive(db, key, nowMs)) > 0) throw hasSecret(key)
  return insertSecret(db, key, digest, nowMs)
}

function hasSecret(key: string): CommandError {
  return new CommandError('has_secret', `The key ${key} already has a secret.`, {
    hint: `Replace it with \`gw keys rotate ${key}\`.`,
  })
}

/** How many ended secrets of a key are kept. */
const MAX_ENDED = 8

/**
 * Adds a secret and ends the older ones: the newest of them after `graceMs`, unless it ends earlier anyway, all others
 * at once. So at most two are active at a time.
 * @throws {CommandError} not_found
 */
export async function replaceSecrets(
  db: Kysely<Tables>,
  key: string,
  digest: string,
  graceMs: number,
  nowMs: number,
): Promise<StoredSecret> {
  await assertExists(db, 'key', key)
  if (graceMs === 0) await revoke(db, [key], nowMs)
  else {
    const endMs = nowMs + graceMs
    const newest = await active(db, key, nowMs)
      .select(({ fn }) => fn.max('id').as('id'))
      .executeTakeFirst()
    await revoke(db, [key], nowMs, newest?.id ?? undefined)
    await db
      .updateTable('key_secrets')
      .where('key_name', '=', key)
      .where('revoked_at_ms', 'is', null)
      .where(row => row.or([row('expires_at_ms', 'is', null), row('expires_at_ms', '>', endMs)]))
      .set({ expires_at_ms: endMs })
      .execute()
  }
  return insertSecret(db, key, digest, nowMs)
}

/** Ends every secret of a key; returns how many were active. @throws {CommandError} not_found */
export async function endSecrets(db: Kysely<Tables>, key: string, nowMs: number): Promise<number> {
  await assertExists(db, 'key', key)
  const count = await countActive(db, key, nowMs)
  await revoke(db, [key], nowMs)
  return count
}

/** Returns whether the key was not suspended before. @throws {CommandError} not_found */
export async function insertSuspension(db: Kysely<Tables>, key: string, nowMs: number): Promise<boolean> {
  await assertExists(db, 'key', key)
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('key_suspensions')
    .values({ key_name: key, suspended_at_ms: nowMs })
    .onConflict(conflict => conflict.doNothing())
    .executeTakeFirstOrThrow()
  return numInsertedOrUpdatedRows !== 0n
}

/** Returns whether the key was suspended before. @throws {CommandError} not_found */
export async function deleteSuspension(db: Kysely<Tables>, key: string): Promise<boolean> {
  await assertExists(db, 'key', key)
  const { numDeletedRows } = await db
    .deleteFrom('key_suspensions')
    .where('key_name', '=', key)
    .executeTakeFirstOrThrow()
  return numDeletedRows !== 0n
}

/**
 * Applies a commit to secrets and suspensions: a deleted key loses both, and a key that the configuration now disables
 * no longer needs its suspension. Returns whether anything changed.
 *
 * @param gone keys that are deleted, or whose name another account takes over.
 */
export async function applyToKeys(
  db: Kysely<Tables>,
  { puts }: Pick<Commit, 'puts'>,
  gone: Commit['deletes'],
  before: readonly StoredResource[],
  nowMs: number,
): Promise<boolean> {
  const enabled = new Set(before.filter(isEnabledKey).map(({ name }) => name))
  const deleted = gone.filter(({ kind }) => kind === 'key').map(({ name }) => name)
  const disabled = puts
    .filter(put => put.kind === 'key' && !isEnabledKey(put) && enabled.has(put.name))
    .map(({ name }) => name)
  let changes = 0n
  for (const keys of chunks(deleted)) changes += await revoke(db, keys, nowMs)
  for (const keys of chunks([...deleted, ...disabled])) {
    const { numDeletedRows } = await db
      .deleteFrom('key_suspensions')
      .where('key_name', 'in', keys)
      .executeTakeFirstOrThrow()
    changes += numDeletedRows
  }
  return changes > 0n
}

/** @param except the id of a secret that stays active. */
async function revoke(
  db: Kysely<Tables>,
  keys: readonly string[],
  nowMs: number,
  except = 0,
): Promise<bigint> {
  const { numUpdatedRows } = await db
    .updateTable('key_secrets')
    .set({ revoked_at_ms: nowMs })
    .where('key_name', 'in', keys)
    .where('revoked_at_ms', 'is', null)
    .where('id', '<>', except)
    .executeTakeFirstOrThrow()
  return numUpdatedRows
}

/** Deletes all but the newest ended secrets of a key, so that rotation cannot fill the table. */
async function deleteEnded(db: Kysely<Tables>, key: string, nowMs: number): Promise<void> {
  await db
    .deleteFrom('key_secrets')
    .where('id', 'in', ended =>
      ended
        .selectFrom('key_secrets')
        .select('id')
        .where('key_name', '=', key)
        .where(row => row.or([row('revoked_at_ms', 'is not', null), row('expires_at_ms', '<=', nowMs)]))
        .orderBy('id', 'desc')
        .limit(NO_LIMIT)
        .offset(MAX_ENDED),
    )
    .execute()
}

function isEnabledKey({ kind, spec }: Resource): boolean {
  return kind === 'key' && spec['enabled'] !== false
}

async function insertSecret(
  db: Kysely<Tables>,
  key: string,
  digest: string,
  nowMs: number,
): Promise<StoredSecret> {
  await deleteEnded(db, key, nowMs)
  const row = await db
    .insertInto('key_secrets')
    .values({ key_name: key, digest, created_at_ms: nowMs, expires_at_ms: null, revoked_at_ms: null })
    .returningAll()
    .executeTakeFirstOrThrow()
  return toSecret(row)
}

function toSecret(row: Selectable<KeySecretsTable>): StoredSecret {
  return {
    id: row.id,
    key: row.key_name,
    createdAtMs: row.created_at_ms,
    ...(row.expires_at_ms !== null && { expiresAtMs: row.expires_at_ms }),
    ...(row.revoked_at_ms !== null && { revokedAtMs: row.revoked_at_ms }),
  }
}
