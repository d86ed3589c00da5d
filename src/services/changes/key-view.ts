import type { Key } from '../../schema/key.ts'
import { decode } from '../../schema/kinds.ts'
import type { KeySuspension, Live, StoredResource, StoredSecret } from '../../store/types.ts'
import type { KeyState, KeyView, SecretSource } from './types.ts'

/** The displayable data of keys: policies, states, ages of secrets. Sorted by name. */
export function viewKeys(live: Live): KeyView[] {
  const active = activeSecrets(live)
  const issued = new Set(
    live.secrets.filter(secret => secret.revokedAtMs === undefined).map(({ key }) => key),
  )
  const holds = new Map(live.holds.map(hold => [hold.key, hold]))
  return live.resources
    .filter(({ kind }) => kind === 'key')
    .map(resource => {
      const { name } = resource
      const secrets = active.get(name) ?? []
      return viewKey(resource, secrets, issued.has(name), holds.get(name), live.atMs)
    })
}

function viewKey(
  { name, spec, owner, set, place, createdAtMs }: StoredResource,
  active: readonly StoredSecret[],
  wasIssued: boolean,
  hold: KeySuspension | undefined,
  atMs: number,
): KeyView {
  const key = decode('key', spec)
  const source = secretSource(key, wasIssued)
  const isOpen = source === 'hash' || source === 'reference' || active.length > 0
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
    state: keyState(key, source, isOpen, hold, atMs),
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

function secretSource(key: Key, wasIssued: boolean): SecretSource | undefined {
  if (key.hash !== undefined) return 'hash'
  if (key.secret !== undefined) return 'reference'
  return wasIssued ? 'issued' : undefined
}

/** The most significant of several reasons. */
function keyState(
  key: Key,
  source: SecretSource | undefined,
  isOpen: boolean,
  hold: KeySuspension | undefined,
  atMs: number,
): KeyState {
  if (!key.enabled) return 'disabled'
  if (hold) return 'suspended'
  if (key.expires_at !== undefined && key.expires_at <= atMs) return 'expired'
  if (source === undefined) return 'no_secret'
  return isOpen ? 'active' : 'expired'
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
