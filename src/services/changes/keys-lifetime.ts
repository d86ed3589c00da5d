import { CommandError } from '../../base/catalogue/command.ts'
import { decode, encode, type Json, KINDS, type Resource } from '../../schema/kinds.ts'
import { name as resourceName } from '../../schema/scalars.ts'
import type { Revision, Store } from '../../store/types.ts'
import { lookUpKey } from './keys-named.ts'
import { type Actor, createManually, deleteManually } from './manual-changes.ts'
import { ManagedError } from './rejections.ts'
import type { Check, KeyView } from './types.ts'

/** A key to create, with its policy in the format of a configuration file. */
export interface NewKey {
  readonly name: string
  readonly policy: { readonly [field: string]: Json }
}

export interface CreatedKey {
  readonly revision: number
  /** Models of the key without a publication: typos, or publications that come later. */
  readonly unknownModels: readonly string[]
}

/** The result of a revocation. */
export interface RevokedKey {
  /** The number of minted secrets that were valid until now. */
  readonly secrets: number
  /**
   * True if the configuration has the secret, which cannot be ended here: the key itself was disabled, as by `gw keys
   * disable`.
   */
  readonly held: boolean
}

/**
 * Creates a key for the owner of the actor, as a revision of its own; `gw apply` does not change it. The key has no
 * secret yet.
 *
 * @throws {CommandError} usage for the name or the policy, not_found if the tenant does not exist, already_exists if the name is
 * taken, not_servable if a gateway could not serve the result.
 */
export async function createKey(
  store: Store,
  { name, policy }: NewKey,
  actor: Actor & { readonly check: Check },
): Promise<CreatedKey> {
  const made = { kind: 'key', name, spec: encode('key', parsePolicy(name, policy)) } as const
  const { id } = await createManually(store, made, actor)
  return { revision: id, unknownModels: await unknownModelsOf(store, made) }
}

/**
 * Deletes a key with its secrets. Its usage stays in the ledger.
 *
 * @param review receives the key and rejects by throwing.
 * @throws {CommandError} not_found if the key does not exist
 * @throws {ManagedError} owned_by_other if a configuration file declares it.
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
 * Ends every secret of a key at once, for any owner: for incidents. The policy stays, and a new secret may be issued.
 *
 * @throws {CommandError} not_found if the key does not exist.
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
  throw new CommandError('usage', faults.join('\n'))
}

async function unknownModelsOf(store: Store, made: Resource): Promise<string[]> {
  const { resources } = await store.find({ kind: 'publication' })
  const known = new Set(resources.map(({ name }) => name))
  return decode('key', made.spec).models.filter(model => !/[*?]/.test(model) && !known.has(model))
}
