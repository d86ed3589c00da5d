import { GwError } from '../../base/catalogue/wire.ts'
import { identify, keyOf } from '../../limits/identify.ts'
import type { CanonicalSpec } from '../../schema/kinds.ts'
import { decode } from '../../schema/kinds.ts'
import { keyEntry, keyTerms } from '../../snapshot/keys.ts'
import type { KeyEntry, Snapshot } from '../../snapshot/types.ts'
import { type Caller, type CallOptions, type Decision, decide, type View } from './decide.ts'
import type { WhyLookup } from './lookup.ts'
import { type Explanation, verdictToJson } from './to-json.ts'

/** A call to explain for each model or each key. */
export type AnyModel = Omit<CallOptions, 'model'>

/** The key of a secret, found by the same look-up as at a request. */
export function callerOf(secret: string, { snapshot, clock }: Pick<View, 'snapshot' | 'clock'>): Caller {
  const entry = keyOf(secret, snapshot)
  if (entry) return { entry }
  try {
    return { entry: identify(['authorization', `Bearer ${secret}`], snapshot, clock.nowMs()) }
  } catch (error) {
    if (error instanceof GwError) return { rejection: error }
    throw error
  }
}

/** The key with this name, with its secret that works longest; undefined if it does not exist. */
export function callerNamed(name: string, snapshot: Snapshot, lookup: WhyLookup): Caller | undefined {
  let entry: KeyEntry | undefined
  for (const candidate of snapshot.keys.values()) {
    if (candidate.name === name) entry = better(entry, candidate)
  }
  return entry ? { entry } : withoutSecret(name, snapshot, lookup)
}

/** Like {@link callerNamed}, for many names, one at a time. */
export function* callersNamed(
  names: readonly string[],
  snapshot: Snapshot,
  lookup: WhyLookup,
): Generator<Caller, void> {
  const entries = new Map<string, KeyEntry>()
  for (const entry of snapshot.keys.values()) entries.set(entry.name, better(entries.get(entry.name), entry))
  for (const name of names) {
    const entry = entries.get(name)
    const caller = entry ? { entry } : withoutSecret(name, snapshot, lookup)
    if (caller) yield caller
  }
}

/** Explains a call of each publication. Yields after each: ten thousand at once would block the event loop. */
export function* explainModels(
  caller: Caller,
  call: AnyModel,
  view: View,
  lookup: WhyLookup,
): Generator<undefined, NonNullable<Explanation['models']>> {
  const models: NonNullable<Explanation['models']> = []
  for (const model of [...view.snapshot.publications.keys()].sort()) {
    yield
    models.push({ model, ...verdictToJson(decide(caller, { ...call, model }, view), lookup) })
  }
  return models
}

/** Explains a call of one model by each of these keys. */
export function* explainKeys(
  callers: Iterable<Caller>,
  callOptions: CallOptions,
  view: View,
  lookup: WhyLookup,
): Generator<undefined, NonNullable<Explanation['keys']>> {
  const keys: NonNullable<Explanation['keys']> = []
  for (const caller of callers) {
    yield
    const decision: Decision = decide(caller, callOptions, view)
    const { name = '', tenant } = caller.entry ?? {}
    keys.push({ key: name, ...(tenant && { tenant: tenant.name }), ...verdictToJson(decision, lookup) })
  }
  return keys
}

/** The secret that works longer. */
function better(one: KeyEntry | undefined, other: KeyEntry): KeyEntry {
  return one && one.expiresAtMs >= other.expiresAtMs ? one : other
}

function withoutSecret(name: string, snapshot: Snapshot, lookup: WhyLookup): Caller | undefined {
  const declared = lookup.find('key', name)
  if (!declared) return undefined
  const spec = decode('key', declared.spec as CanonicalSpec)
  const tenant = spec.tenant === undefined ? undefined : snapshot.tenants.get(spec.tenant)
  const reason = `key ${name} has no secret`
  return {
    entry: keyEntry(
      keyTerms({ name, account: declared.account ?? name, spec }),
      tenant,
      lookup.isSuspended(name),
    ),
    rejection: new GwError('invalid_api_key', 'Incorrect API key provided.', { reason }),
  }
}
