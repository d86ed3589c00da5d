import { type CanonicalSpec, decode } from '../../schema/kinds.ts'
import type { KeySuspension, Live, StoredResource, StoredSecret } from '../../store/types.ts'
import type { KeyState, KeyView, SecretSource } from './types.ts'

/** The displayable data of keys: policies, states, ages of secrets. Sorted by name. */
export function viewKeys(live: Live): KeyView[] {
  return standings(live).map(viewKey)
}

/** The state of each key, by name: for lists, without a policy decoded. */
export function keyStates(live: Live): ReadonlyMap<string, KeyState> {
  return new Map(standings(live).map(({ resource, state }) => [resource.name, state]))
}

/** What is known of a key beside its policy. */
interface Standing {
  readonly resource: StoredResource
  readonly state: KeyState
  readonly source: SecretSource | undefined
  /** Its valid secrets, oldest first. */
  readonly active: readonly StoredSecret[]
  readonly hold: KeySuspension | undefined
  readonly atMs: number
}

function standings(live: Live): Standing[] {
  const { atMs } = live
  const actives = activeSecrets(live)
  const issued = new Set(
    live.secrets.filter(secret => secret.revokedAtMs === undefined).map(({ key }) => key),
  )
  const holds = new Map(live.holds.map(hold => [hold.key, hold]))
  return live.resources
    .filter(({ kind }) => kind === 'key')
    .map(resource => {
      const { name, spec } = resource
      const active = actives.get(name) ?? []
      const hold = holds.get(name)
      const source = secretSource(spec, issued.has(name))
      const isOpen = source === 'hash' || source === 'reference' || active.length > 0
      return { resource, state: keyState(spec, source, isOpen, hold, atMs), source, active, hold, atMs }
    })
}

function viewKey({ resource, state, source, active, hold, atMs }: Standing): KeyView {
  const { name, spec, owner, set, place, createdAtMs } = resource
  const key = decode('key', spec)
  const newest = active.at(-1)
  return {
    name,
    kind: key.kind,
    ...(key.display_name !== undefined && { displayName: key.display_name }),
    ...(key.tenant !== undefined && { tenant: key.tenant }),
    models: key.models,
    limits: key.limits,
    ...(key.quota !== undefined && { quota: key.quota }),
    ...(key.budget && {
      budget: {
        amountNano: key.budget.amount,
        per: key.budget.per,
        timezone: key.budget.timezone,
        ...(key.budget.mode && { mode: key.budget.mode }),
      },
    }),
    ...(key.expires_at !== undefined && { expiresAtMs: key.expires_at }),
    state,
    ...(hold && { suspendedAtMs: hold.suspendedAtMs }),
    owner,
    ...(set !== undefined && { set }),
    ...(place && { place }),
    createdAtMs,
    ...(source && { secretSource: source }),
    ...(newest && { secretCreatedAtMs: newest.createdAtMs, secretAgeMs: atMs - newest.createdAtMs }),
    activeSecrets: active.length,
  }
}

function secretSource({ hash, secret }: CanonicalSpec, wasIssued: boolean): SecretSource | undefined {
  if (hash !== undefined) return 'hash'
  if (secret !== undefined) return 'reference'
  return wasIssued ? 'issued' : undefined
}

/** The most significant of several reasons. */
function keyState(
  spec: CanonicalSpec,
  source: SecretSource | undefined,
  isOpen: boolean,
  hold: KeySuspension | undefined,
  atMs: number,
): KeyState {
  if (spec['enabled'] === false) return 'disabled'
  if (hold) return 'suspended'
  const expiresAtMs = keyExpiryMs(spec)
  if (expiresAtMs !== undefined && expiresAtMs <= atMs) return 'expired'
  if (source === undefined) return 'no_secret'
  return isOpen ? 'active' : 'expired'
}

/** When the policy of a key ends. */
export function keyExpiryMs({ expires_at: at }: CanonicalSpec): number | undefined {
  return typeof at === 'string' ? Date.parse(at) : undefined
}

/** The secrets valid at `live.atMs`, oldest first, by key name. */
export function activeSecrets(live: Live): Map<string, StoredSecret[]> {
  const byKey = new Map<string, StoredSecret[]>()
  for (const secret of live.secrets) {
    const { key, revokedAtMs, expiresAtMs } = secret
    if (revokedAtMs !== undefined || (expiresAtMs !== undefined && expiresAtMs <= live.atMs)) continue
    const secrets = byKey.get(key)
    if (secrets) secrets.push(secret)
    else byKey.set(key, [secret])
  }
  return byKey
}
