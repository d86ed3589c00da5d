import { Calendar } from '../limits/calendar.ts'
import type { Store } from '../store/types.ts'
import { record } from './audit.ts'
import * as keys from './changes/keys.ts'
import {
  type CreatedKey,
  createKey as createOwnKey,
  deleteKey as deleteOwnKey,
  type NewKey,
  type RevokedKey,
  revokeKey as revokeSecrets,
} from './changes/keys-lifetime.ts'
import type { IssuedSecret, KeyView } from './changes/types.ts'
import type { AppPorts } from './context.ts'
import { currencyOf } from './currency.ts'
import { firstCallWarning } from './first-calls.ts'
import { loggedIn } from './revision-author.ts'
import { wouldServe } from './serve-check.ts'
import { withStore } from './stored.ts'

type KeyPorts = Pick<AppPorts, 'clock' | 'cwd' | 'random' | 'environment' | 'signal'>

/** Filters for the list of keys, combined with AND. */
export interface KeyFilters {
  /** Keys that have not expired, and will within this time. */
  readonly expiringMs?: number
  /** Keys older than this that settled no call within this time. */
  readonly unusedMs?: number
}

/**
 * Creates a key owned by the command line, and mints its secret if `isIssued`.
 * @throws {CommandError} store_…, not_servable, not_found, already_exists, usage
 */
export async function createKey(
  key: NewKey,
  isIssued: boolean,
  storeUrl: string,
  ports: KeyPorts,
): Promise<CreatedKey & { readonly issued?: Issued }> {
  ports.signal.throwIfAborted()
  return withStore(storeUrl, 'write', ports, async store => {
    const actor = { origin: 'cli', ...loggedIn(ports.environment), check: wouldServe(ports.signal) } as const
    const created = await createOwnKey(store, key, actor)
    const target = `key/${key.name}`
    await record(store, { action: 'create_key', target, revision: created.revision }, ports)
    if (!isIssued) return created
    return { ...created, issued: await issue(store, key.name, ports) }
  })
}

/**
 * Ends every secret of a key at once, for any owner.
 * @throws {CommandError} store_…, not_found
 */
export async function revokeKey(name: string, storeUrl: string, ports: KeyPorts): Promise<RevokedKey> {
  const hasEnded = ({ secrets, held }: RevokedKey) => secrets > 0 || held
  return changed('revoke_key', name, storeUrl, ports, store => revokeSecrets(store, name), hasEnded)
}

/**
 * Deletes a key that no configuration file declares. Returns the number of the new revision.
 *
 * @param review receives the key and rejects by throwing.
 * @throws {CommandError} store_…, owned_by_other, not_found
 */
export async function deleteKey(
  name: string,
  storeUrl: string,
  ports: KeyPorts,
  review: (key: KeyView) => Promise<void>,
): Promise<number> {
  const agreed = async (key: KeyView) => {
    await review(key)
    ports.signal.throwIfAborted()
  }
  const actor = { origin: 'cli', ...loggedIn(ports.environment) } as const
  return withStore(storeUrl, 'write', ports, async store => {
    const { id: revision } = await deleteOwnKey(store, name, actor, agreed)
    await record(store, { action: 'delete_key', target: `key/${name}`, revision }, ports)
    return revision
  })
}

/** A minted secret, with a warning for its user. */
export interface Issued extends IssuedSecret {
  readonly warning?: string
}

/**
 * Mints the first secret of each key, or of none on an error.
 * @throws {CommandError} store_…, not_found, has_secret
 */
export async function issueKeys(
  names: readonly string[],
  storeUrl: string,
  ports: KeyPorts,
): Promise<readonly Issued[]> {
  ports.signal.throwIfAborted()
  return withStore(storeUrl, 'write', ports, async store => {
    for (const name of names) await keys.assertIssuable(store, name)
    const issued: Issued[] = []
    for (const name of names) issued.push(await issue(store, name, ports))
    return issued
  })
}

/** Every step that may fail comes before the secret, because a secret is shown only once. */
async function issue(store: Store, name: string, ports: KeyPorts): Promise<Issued> {
  const warning = await firstCallWarning(store, name, ports)
  const issued = await keys.issueKey(store, ports.random, name)
  await record(store, { action: 'issue_key', target: `key/${name}` }, ports)
  return { ...issued, ...(warning !== undefined && { warning }) }
}

/**
 * @param graceMs how long the older secrets still work; 0 ends them at once.
 * @throws {CommandError} store_…, not_found, has_secret
 */
export async function rotateKey(
  name: string,
  graceMs: number,
  storeUrl: string,
  ports: KeyPorts,
): Promise<IssuedSecret> {
  return changed('rotate_key', name, storeUrl, ports, store =>
    keys.rotateKey(store, ports.random, name, graceMs),
  )
}

/** Disables a key manually. False if it was disabled already. @throws {CommandError} store_…, not_found */
export async function disableKey(name: string, storeUrl: string, ports: KeyPorts): Promise<boolean> {
  return changed('disable_key', name, storeUrl, ports, store => keys.suspendKey(store, name), Boolean)
}

/** Reverts {@link disableKey}. False if the key was not disabled. @throws store_…, not_found, disabled_in_file */
export async function enableKey(name: string, storeUrl: string, ports: KeyPorts): Promise<boolean> {
  return changed('enable_key', name, storeUrl, ports, store => keys.resumeKey(store, name), Boolean)
}

/** All keys that match every filter, sorted by name. @throws {CommandError} store_… */
export async function listKeys(
  { expiringMs, unusedMs }: KeyFilters,
  storeUrl: string,
  ports: KeyPorts,
): Promise<readonly KeyView[]> {
  return withStore(storeUrl, 'read', ports, async store => {
    const nowMs = ports.clock.nowMs()
    const all = await keys.listKeys(store)
    const used = unusedMs === undefined ? undefined : await usedSince(store, nowMs - unusedMs, nowMs)
    return all.filter(({ name, createdAtMs, expiresAtMs }) => {
      if (used && (used.has(name) || createdAtMs > nowMs - (unusedMs ?? 0))) return false
      if (expiringMs === undefined) return true
      return expiresAtMs !== undefined && expiresAtMs > nowMs && expiresAtMs <= nowMs + expiringMs
    })
  })
}

/** The settled amounts of a key. Open holds are known only to the gateway. */
export interface KeySpend {
  /** In the life of the key. */
  readonly tokens: number
  readonly amountNano: bigint
  /** In the current window of its budget; absent without a budget. */
  readonly windowNano?: bigint
  readonly currency: string
}

/** @throws {CommandError} store_…, not_found */
export async function showKey(
  name: string,
  storeUrl: string,
  ports: KeyPorts,
): Promise<{ readonly key: KeyView; readonly spend: KeySpend }> {
  return withStore(storeUrl, 'read', ports, async store => {
    const key = await keys.showKey(store, name)
    return { key, spend: await spendOf(store, key, ports.clock.nowMs()) }
  })
}

/** The ledger keeps sums per quarter of an hour. */
const QUARTER_MS = 900_000

async function spendOf(store: Store, { name, budget }: KeyView, nowMs: number): Promise<KeySpend> {
  const found = await store.find({ kind: 'key', name })
  const account = found.resources[0]?.account ?? name
  const { startMs } = new Calendar().span(budget?.per ?? 'total', budget?.timezone ?? 'UTC', nowMs)
  // A total budget has no start: it uses the sums for life.
  const sinceMs = startMs > 0 ? startMs : nowMs - (nowMs % QUARTER_MS)
  const [sums] = await store.accounting.keySums([{ key: account, sinceMs }])
  const { totalTokens: tokens = 0, totalNano: amountNano = 0n, windowNano = 0n } = sums ?? {}
  return {
    tokens,
    amountNano,
    ...(budget && { windowNano: budget.per === 'total' ? amountNano : windowNano }),
    currency: currencyOf(await store.find({ kind: 'settings' })),
  }
}

/** Runs `work` and writes an audit entry if it changed something. */
async function changed<T>(
  action: string,
  name: string,
  storeUrl: string,
  ports: KeyPorts,
  work: (store: Store) => Promise<T>,
  hasChanged: (result: T) => boolean = () => true,
): Promise<T> {
  ports.signal.throwIfAborted()
  return withStore(storeUrl, 'write', ports, async store => {
    const result = await work(store)
    if (hasChanged(result)) await record(store, { action, target: `key/${name}` }, ports)
    return result
  })
}

/** The keys with a settled call in that time. */
async function usedSince(store: Store, sinceMs: number, untilMs: number): Promise<ReadonlySet<string>> {
  const rows = await store.accounting.usage({ by: 'key', sinceMs, untilMs })
  return new Set(rows.map(({ label }) => label))
}
