import { CommandError } from '../base/catalogue/command.ts'
import { decode, encode, type Json, KINDS, type Resource } from '../schema/kinds.ts'
import { name as resourceName } from '../schema/scalars.ts'
import type { Revision, Store } from '../store/types.ts'
import { lookUpKey } from './keys-named.ts'
import { type Actor, createManually, deleteManually } from './manual-changes.ts'
import { ManagedError } from './rejections.ts'
import type { Check, KeyView } from './types.ts'

/** A key to make, in the words of a configuration file. */
export interface NewKey {
  readonly name: string
  readonly policy: { readonly [field: string]: Json }
}

export interface CreatedKey {
  readonly revision: number
  /** Names among its models that no publication has: perhaps a typo, perhaps one that comes later. */
  readonly unknownModels: readonly string[]
}

/** What a revocation has ended. */
export interface RevokedKey {
  /** Secrets that were minted here and worked until now. */
  readonly secrets: number
  /**
   * True where the configuration brings a secret along, which cannot be ended here: the key itself was disabled, as
   * by `gw keys disable`.
   */
  readonly held: boolean
}

/**
 * Makes a key that belongs to whose hand it is, as a revision of its own; `gw apply` leaves it alone. It has no
 * secret yet.
 *
 * @throws {CommandError} GW6001 for the name or the policy, GW4005 without the tenant, GW4013 where the name is
 * taken, GW3002 where a gateway could not serve the result.
 */
export async function createKey(
  store: Store,
  { name, policy }: NewKey,
  actor: Actor & { readonly check: Check },
): Promise<CreatedKey> {
  const made = { kind: 'key', name, spec: encode('key', parsePolicy(name, policy)) } as const
  const { id } = await createManually(store, made, actor)
  return { revision: id, unknownModels: await modelsUnknown(store, made) }
}

/**
 * Deletes a key with its secrets. What it has used stays in the ledger.
 *
 * @param review sees the key and rejects by throwing.
 * @throws {CommandError} GW4005 without such a key
 * @throws {ManagedError} GW4004 where a configuration file declares it.
 */
export async function deleteKey(
  store: Store,
  name: string,
  actor: Actor,
  review: (key: KeyView) => Promise<void>,
): Promise<Revision> {
  const key = await lookUpKey(store, name)
  if (key.owner === 'config') throw new ManagedError({ ...key, kind: 'key' })
  await review(key)
  return deleteManually(store, { kind: 'key', name }, actor)
}

/**
 * Ends every secret of a key at once, whoever owns the key: this is for an incident. The policy stays, and a new
 * secret may be issued.
 *
 * @throws {CommandError} GW4005 without such a key.
 */
export async function revokeKey(store: Store, name: string): Promise<RevokedKey> {
  const key = await lookUpKey(store, name)
  const secrets = await store.revokeSecrets(name)
  const held = key.secretSource === 'hash' || key.secretSource === 'reference'
  if (held) await store.suspendKey(name)
  return { secrets, held }
}

function parsePolicy(name: string, policy: NewKey['policy']) {
  const checked = resourceName.safeParse(name)
  const key = KINDS.key.safeParse(policy)
  const faults = [
    ...(checked.error?.issues ?? []).map(issue => `The name ${name}: ${issue.message}.`),
    ...(key.error?.issues ?? []).map(issue => `${issue.path.join('.')}: ${issue.message}.`),
  ]
  if (faults.length === 0 && key.success) return key.data
  throw new CommandError('GW6001', faults.join('\n'))
}

async function modelsUnknown(store: Store, made: Resource): Promise<string[]> {
  const { resources } = await store.find({ kind: 'publication' })
  const known = new Set(resources.map(({ name }) => name))
  return decode('key', made.spec).models.filter(model => !/[*?]/.test(model) && !known.has(model))
}
