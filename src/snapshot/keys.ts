import { isMistyped, keyDigest } from '../base/api-key.ts'
import type { Spec } from '../schema/kinds.ts'
import { quotaOf } from '../schema/limits.ts'
import type { SecretReference } from '../schema/scalars.ts'
import type { KeySecret, ServedResource, ServedState } from '../schema/state.ts'
import { type EntryPorts, type Item, rateLimits, shadowLimits } from './entries.ts'
import { modelFilter } from './model-filter.ts'
import type { Budget, KeyEntry, TenantEntry } from './types.ts'

/** Imported secrets may have any form, but must have a minimum length (spec/resources.md §2). */
const MIN_SECRET_LENGTH = 20
const NEVER_MS = Number.POSITIVE_INFINITY

/** A key as configured: without its tenant, its secrets and manual changes. */
export type KeyTerms = Omit<KeyEntry, 'tenant'>

export function keyTerms({ name, account, spec }: Pick<Item<'key'>, 'name' | 'account' | 'spec'>): KeyTerms {
  return {
    name,
    account,
    enabled: spec.enabled,
    expiresAtMs: spec.expires_at ?? NEVER_MS,
    mayUse: modelFilter(spec.models),
    limits: rateLimits(spec.limits),
    quotaTokens: spec.quota === undefined ? undefined : quotaOf(spec.quota),
    budget: spec.budget && budgetOf(spec.budget),
    shadow: shadowLimits({ ...spec.limits, quota: spec.quota, budget: spec.budget }),
  }
}

/**
 * The entry of a key, before the expiry of its secrets.
 *
 * @param isSuspended The key was disabled manually.
 */
export function keyEntry(terms: KeyTerms, tenant: TenantEntry | undefined, isSuspended: boolean): KeyEntry {
  const { name, account, enabled, expiresAtMs, mayUse, limits, quotaTokens, budget, shadow } = terms
  return Object.freeze({
    name,
    account,
    enabled: enabled && !isSuspended,
    expiresAtMs,
    mayUse,
    tenant,
    limits,
    quotaTokens,
    budget,
    shadow,
  })
}

function budgetOf({ amount, per, timezone }: NonNullable<Spec<'key'>['budget']>): Budget {
  return Object.freeze({ amountNano: amount, per, timezone })
}

/** A decoded key, without its tenant and manual changes. */
export class KnownKey {
  readonly resource: ServedResource
  /** By name; absent for a platform key. */
  readonly tenant: string | undefined
  /** SHA-256 of an imported secret, in hexadecimal digits. */
  readonly digest: string | undefined
  /** The source of an imported secret. */
  readonly secret: SecretReference | undefined
  readonly #terms: KeyTerms
  /** The last result of `entry`: most reloads do not change it. */
  #entry: KeyEntry | undefined

  constructor(item: Item<'key'>, resource: ServedResource) {
    const { spec } = item
    this.resource = resource
    this.tenant = spec.tenant
    this.digest = spec.hash?.slice('sha256:'.length)
    this.secret = spec.secret
    this.#terms = keyTerms(item)
  }

  get name(): string {
    return this.#terms.name
  }

  /** @param isSuspended The key was disabled manually. */
  entry(tenant: TenantEntry | undefined, isSuspended: boolean): KeyEntry {
    const known = this.#entry
    const enabled = this.#terms.enabled && !isSuspended
    if (known && known.tenant === tenant && known.enabled === enabled) return known
    this.#entry = keyEntry(this.#terms, tenant, isSuspended)
    return this.#entry
  }
}

/** The keys by the digest of each of their secrets: minted ones, and one imported by the configuration. */
export function* keyEntries(
  state: ServedState,
  keys: readonly KnownKey[],
  tenants: ReadonlyMap<string, TenantEntry>,
  ports: EntryPorts,
): Generator<undefined, ReadonlyMap<string, KeyEntry>> {
  const suspended = new Set(state.suspendedKeys)
  const minted = yield* byKey(state.secrets)
  const entries = new Map<string, KeyEntry>()
  for (const key of keys) {
    yield
    const { name, digest, secret } = key
    const tenant = key.tenant === undefined ? undefined : tenants.get(key.tenant)
    if (key.tenant !== undefined && !tenant)
      ports.problems.push(`key ${name}: there is no tenant ${key.tenant}`)
    const entry = key.entry(tenant, suspended.has(name))
    const addSecret = (digest: string, secretExpiresAtMs: number) => {
      const other = entries.get(digest)
      if (other) return void ports.problems.push(`keys ${other.name} and ${name} have the same secret`)
      const expiresAtMs = Math.min(entry.expiresAtMs, secretExpiresAtMs)
      entries.set(
        digest,
        expiresAtMs === entry.expiresAtMs ? entry : Object.freeze({ ...entry, expiresAtMs }),
      )
    }
    for (const secret of minted.get(name) ?? []) addSecret(secret.digest, secret.expiresAtMs ?? NEVER_MS)
    if (digest !== undefined) addSecret(digest, NEVER_MS)
    if (secret) {
      const found = importedSecret(name, secret, ports)
      if (found !== undefined) addSecret(keyDigest(found), NEVER_MS)
    }
  }
  return entries
}

function* byKey(secrets: readonly KeySecret[]): Generator<undefined, ReadonlyMap<string, KeySecret[]>> {
  const minted = new Map<string, KeySecret[]>()
  for (const secret of secrets) {
    yield
    const others = minted.get(secret.key)
    if (others) others.push(secret)
    else minted.set(secret.key, [secret])
  }
  return minted
}

/** The imported secret of a key. Adds a problem and returns undefined if it is invalid. */
function importedSecret(key: string, reference: SecretReference, ports: EntryPorts): string | undefined {
  const owner = `key ${key}: secret`
  const secret = ports.resolve(owner, reference)
  if (secret === '') return undefined
  if (secret.length < MIN_SECRET_LENGTH)
    ports.problems.push(`${owner} is shorter than ${MIN_SECRET_LENGTH} characters`)
  else if (isMistyped(secret)) ports.problems.push(`${owner} looks like a gw key, but its checksum is wrong`)
  else return secret
  return undefined
}
