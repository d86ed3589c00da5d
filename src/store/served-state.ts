import { SortedMergeCursor } from '../base/sorted-merge-cursor.ts'
import { type CanonicalSpec, KIND_NAMES, type Kind } from '../schema/kinds.ts'
import type { KeySecret, ServedResource, ServedState } from '../schema/state.ts'
import { type PlainSql, prepare } from './engine.ts'
import { inPages, PAGE_ROWS } from './pages.ts'
import { compareResources } from './resources.ts'
import { readResourcesAt } from './revision-changes.ts'
import type { Head } from './types.ts'

const OF_KIND = `select name, spec, created_at_ms, account from resources
  where kind = ? and name > ? order by name limit ${PAGE_ROWS}`

/**
 * The active secrets: of existing keys, neither revoked nor past their grace period. SQLite visits the tables of a
 * `cross join` from left to right: in the other order it would sort all keys for each page.
 */
const ACTIVE_SECRETS = `select id, key_name, digest, expires_at_ms from key_secrets
  cross join resources
  where resources.kind = 'key' and resources.name = key_secrets.key_name and id > ? and revoked_at_ms is null and (expires_at_ms is null or expires_at_ms > ?)
  order by id limit ${PAGE_ROWS}`

interface ResourceRow {
  readonly name: string
  readonly spec: string
  readonly created_at_ms: number
  readonly account: string | null
}

interface SecretRow {
  readonly id: number
  readonly key_name: string
  readonly digest: string
  readonly expires_at_ms: number | null
}

/**
 * Reads the state that a gateway serves, without Kysely and a page at a time, yielding to the event loop between two
 * pages.
 * @param before An earlier state. Objects of unchanged rows are reused, so that callers can recognize them, and the
 * garbage collector need not copy them.
 */
export async function readServed(raw: PlainSql, nowMs: number, before?: ServedState): Promise<ServedState> {
  const page = prepare<[Kind, string], ResourceRow>(raw, OF_KIND)
  const earlier = new SortedMergeCursor(before?.resources ?? [], compareResources)
  const resources: ServedResource[] = []
  for (const kind of KIND_NAMES) {
    for await (const rows of inPages('', after => page.all(kind, after), byName)) {
      for (const row of rows) {
        const known = earlier.find({ kind, name: row.name })
        resources.push(isOfRow(known, row) ? known : new RowResource(kind, row))
      }
    }
  }
  return {
    ...(await readManualState(raw, nowMs, before?.secrets)),
    revision: (await readHead(raw)).revision,
    resources,
  }
}

/**
 * The resources of an earlier revision with the current secrets, suspensions and maintenance. Keys are matched by
 * account, whatever their current name. A key that the newest revision disables or no longer has counts as suspended:
 * it was closed on purpose, and a suspension that it may have had ended with that revision.
 * @throws {CommandError} not_found
 */
export async function readServedAt(raw: PlainSql, revision: number, nowMs: number): Promise<ServedState> {
  const stored = await readResourcesAt(raw, revision)
  const resources = stored.map(({ kind, name, spec, createdAtMs, account }) => ({
    kind,
    name,
    spec,
    createdAtMs,
    ...(account !== undefined && { account }),
  }))
  const manual = await readManualState(raw, nowMs)
  const keysNow = await currentKeys(raw)
  const suspended = new Set(manual.suspendedKeys)
  const suspendedKeys: string[] = []
  const nameThen = new Map<string, string>()
  for (const { kind, name, spec, account = name } of resources) {
    if (kind !== 'key') continue
    const now = keysNow.get(account)
    if (now) nameThen.set(now.name, name)
    if (now && suspended.has(now.name)) suspendedKeys.push(name)
    else if (!now?.enabled && spec['enabled'] !== false) suspendedKeys.push(name)
  }
  const secrets = manual.secrets.flatMap(secret => {
    const key = nameThen.get(secret.key)
    return key === undefined ? [] : { ...secret, key }
  })
  return { ...manual, revision, resources, secrets, suspendedKeys }
}

/** The keys of the newest revision, by account. */
async function currentKeys(
  raw: PlainSql,
): Promise<ReadonlyMap<string, { readonly name: string; readonly enabled: boolean }>> {
  const page = prepare<[string], { name: string; account: string | null; enabled: number | string | null }>(
    raw,
    `select name, account, spec ->> 'enabled' as enabled from resources
     where kind = 'key' and name > ? order by name limit ${PAGE_ROWS}`,
  )
  const keys = new Map<string, { readonly name: string; readonly enabled: boolean }>()
  for await (const rows of inPages('', after => page.all(after), byName)) {
    for (const { name, account, enabled } of rows)
      keys.set(account ?? name, { name, enabled: enabled !== 0 && enabled !== 'false' })
  }
  return keys
}

const byName = ({ name }: { readonly name: string }): string => name

export async function readHead(raw: PlainSql): Promise<Head> {
  const head = await prepare<[], Head>(raw, 'select revision, key_version as "keyVersion" from head').get()
  return head as Head
}

/** The manually changed part of the state. @param before the secrets of an earlier state */
async function readManualState(
  raw: PlainSql,
  nowMs: number,
  before: readonly KeySecret[] = [],
): Promise<Omit<ServedState, 'revision' | 'resources'>> {
  const secrets = await activeSecrets(raw, nowMs, before)
  const suspended = await prepare<[], { key_name: string }>(
    raw,
    'select key_name from key_suspensions order by key_name',
  ).all()
  const kept = await prepare<
    [],
    { id: string; bound_to: string; nonce: Uint8Array; sealed: Uint8Array; created_at_ms: number }
  >(raw, 'select id, bound_to, nonce, sealed, created_at_ms from stored_secrets order by bound_to').all()
  const maintenance = await prepare<[], { message: string | null; author: string | null; since_ms: number }>(
    raw,
    'select message, author, since_ms from maintenance',
  ).get()
  return {
    keyVersion: (await readHead(raw)).keyVersion,
    secrets,
    suspendedKeys: suspended.map(row => row.key_name),
    ...(kept.length > 0 && {
      kept: kept.map(({ id, bound_to: boundTo, nonce, sealed, created_at_ms: createdAtMs }) => ({
        id,
        boundTo,
        nonce,
        sealed,
        createdAtMs,
      })),
    }),
    ...(maintenance && {
      maintenance: {
        sinceMs: maintenance.since_ms,
        ...(maintenance.message !== null && { message: maintenance.message }),
        ...(maintenance.author !== null && { author: maintenance.author }),
      },
    }),
  }
}

async function activeSecrets(
  raw: PlainSql,
  nowMs: number,
  before: readonly KeySecret[],
): Promise<KeySecret[]> {
  const page = prepare<[number, number], SecretRow>(raw, ACTIVE_SECRETS)
  const earlier = new SortedMergeCursor(before, compareSecrets)
  const secrets: KeySecret[] = []
  const pages = inPages(
    0,
    after => page.all(after, nowMs),
    ({ id }) => id,
  )
  for await (const rows of pages) {
    for (const row of rows) {
      const known = earlier.find(row.id)
      secrets.push(isOfSecretRow(known, row) ? known : new RowSecret(row))
    }
  }
  return secrets
}

/** A resource backed by its row. The spec is parsed on each access and not kept: the caller keeps the compiled form. */
class RowResource implements ServedResource {
  readonly kind: Kind
  readonly name: string
  /** Canonical JSON. */
  readonly text: string
  readonly createdAtMs: number
  declare readonly account?: string

  constructor(kind: Kind, row: ResourceRow) {
    this.kind = kind
    this.name = row.name
    this.text = row.spec
    this.createdAtMs = row.created_at_ms
    if (row.account !== null) this.account = row.account
  }

  get spec(): CanonicalSpec {
    return JSON.parse(this.text) as CanonicalSpec
  }
}

function isOfRow(resource: ServedResource | undefined, row: ResourceRow): resource is RowResource {
  return (
    resource instanceof RowResource &&
    resource.text === row.spec &&
    resource.createdAtMs === row.created_at_ms &&
    resource.account === (row.account ?? undefined)
  )
}

/** A secret backed by its row. */
class RowSecret implements KeySecret {
  readonly id: number
  readonly key: string
  readonly digest: string
  declare readonly expiresAtMs?: number

  constructor(row: SecretRow) {
    this.id = row.id
    this.key = row.key_name
    this.digest = row.digest
    if (row.expires_at_ms !== null) this.expiresAtMs = row.expires_at_ms
  }
}

function isOfSecretRow(secret: KeySecret | undefined, row: SecretRow): secret is RowSecret {
  return (
    secret !== undefined &&
    secret.key === row.key_name &&
    secret.digest === row.digest &&
    secret.expiresAtMs === (row.expires_at_ms ?? undefined)
  )
}

/** Secrets that did not come from a row sort first. */
function compareSecrets(secret: KeySecret, id: number): number {
  return secret instanceof RowSecret ? secret.id - id : -1
}
