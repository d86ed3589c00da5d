import { identify, keyOf } from '../../admission/identify.ts'
import { GwError } from '../../base/catalogue/wire.ts'
import type { CanonicalSpec } from '../../schema/kinds.ts'
import { decode } from '../../schema/kinds.ts'
import { keyEntry, keyTerms } from '../../snapshot/keys.ts'
import type { KeyEntry, Snapshot } from '../../snapshot/types.ts'
import type { Background } from './background.ts'
import { type Bearer, type Decision, decide, type View, type Wish } from './decide.ts'
import { type Explanation, tellVerdict } from './told.ts'

/** The call of a list: of each model, or of each key. */
export type AnyModel = Omit<Wish, 'model'>

/** Whom a secret belongs to, by the look-up of the gateway itself. */
export function bearerOf(secret: string, { snapshot, clock }: Pick<View, 'snapshot' | 'clock'>): Bearer {
  const entry = keyOf(secret, snapshot)
  if (entry) return { entry }
  try {
    return { entry: identify(['authorization', `Bearer ${secret}`], snapshot, clock.nowMs()) }
  } catch (error) {
    if (error instanceof GwError) return { refusal: error }
    throw error
  }
}

/** The key of a name as its best secret opens it; undefined where there is none of that name. */
export function bearerNamed(name: string, snapshot: Snapshot, background: Background): Bearer | undefined {
  let entry: KeyEntry | undefined
  for (const candidate of snapshot.keys.values()) {
    if (candidate.name === name) entry = better(entry, candidate)
  }
  return entry ? { entry } : withoutSecret(name, snapshot, background)
}

/** Every key of these names, the same way, one at a time. */
export function* bearersNamed(
  names: readonly string[],
  snapshot: Snapshot,
  background: Background,
): Generator<Bearer, void> {
  const entries = new Map<string, KeyEntry>()
  for (const entry of snapshot.keys.values()) entries.set(entry.name, better(entries.get(entry.name), entry))
  for (const name of names) {
    const entry = entries.get(name)
    const bearer = entry ? { entry } : withoutSecret(name, snapshot, background)
    if (bearer) yield bearer
  }
}

/** What becomes of a call of each publication. Rests at each: ten thousand at once would hold up everybody. */
export function* explainModels(
  bearer: Bearer,
  call: AnyModel,
  view: View,
  background: Background,
): Generator<undefined, NonNullable<Explanation['models']>> {
  const models: NonNullable<Explanation['models']> = []
  for (const model of [...view.snapshot.publications.keys()].sort()) {
    yield
    models.push({ model, ...tellVerdict(decide(bearer, { ...call, model }, view), background) })
  }
  return models
}

/** What becomes of a call of one model by each of these keys. */
export function* explainKeys(
  bearers: Iterable<Bearer>,
  wish: Wish,
  view: View,
  background: Background,
): Generator<undefined, NonNullable<Explanation['keys']>> {
  const keys: NonNullable<Explanation['keys']> = []
  for (const bearer of bearers) {
    yield
    const decision: Decision = decide(bearer, wish, view)
    const { name = '', tenant } = bearer.entry ?? {}
    keys.push({ key: name, ...(tenant && { tenant: tenant.name }), ...tellVerdict(decision, background) })
  }
  return keys
}

/** Of two secrets of a key the one that works for longer. */
function better(one: KeyEntry | undefined, other: KeyEntry): KeyEntry {
  return one && one.expiresAtMs >= other.expiresAtMs ? one : other
}

function withoutSecret(name: string, snapshot: Snapshot, background: Background): Bearer | undefined {
  const declared = background.find('key', name)
  if (!declared) return undefined
  const spec = decode('key', declared.spec as CanonicalSpec)
  const tenant = spec.tenant === undefined ? undefined : snapshot.tenants.get(spec.tenant)
  const reason = `key ${name} has no secret`
  return {
    entry: keyEntry(
      keyTerms({ name, account: declared.account ?? name, spec }),
      tenant,
      background.isHeld(name),
    ),
    refusal: new GwError('invalid_api_key', 'Incorrect API key provided.', { reason }),
  }
}
