import { CommandError } from '../base/catalogue/command.ts'
import { decode, encode, type Json, KINDS, type Resource } from '../schema/kinds.ts'
import { name as resourceName } from '../schema/scalars.ts'
import { resourceId } from '../store/resources.ts'
import type { Commit, Live, Revision, Store } from '../store/types.ts'
import { findKey, namedAlike } from './keys-named.ts'
import { ownerName } from './subject.ts'
import type { Check, KeyView } from './types.ts'

/** Nobody decides anything between the look and the commit, so a revision that comes in between is no conflict. */
const ATTEMPTS = 5
const NONE = { create: 0, update: 0, delete: 0, unchanged: 0 }

/** A key to make, in the words of a configuration file. */
export interface NewKey {
  readonly name: string
  readonly policy: { readonly [field: string]: Json }
}

/** Who signs the revision. */
interface Signed {
  readonly author?: string
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
 * Makes a key that belongs to the command line, as a revision of its own; `gw apply` leaves it alone. It has no
 * secret yet.
 *
 * @throws {CommandError} GW6001 for the name or the policy, GW4005 without the tenant, GW4013 where the name is
 * taken, GW3002 where a gateway could not serve the result.
 */
export async function createKey(
  store: Store,
  { name, policy }: NewKey,
  { check, ...signed }: Signed & { readonly check: Check },
): Promise<CreatedKey> {
  const spec = encode('key', parsePolicy(name, policy))
  const made = { kind: 'key', name, spec, owner: 'cli' } as const
  let unknownModels: readonly string[] = []
  const { id } = await commitOnTop(store, signed, live => {
    assertFree(live, name)
    assertTenant(live, spec['tenant'])
    unknownModels = modelsUnknown(live, made)
    return { counts: { ...NONE, create: 1 }, puts: [made], deletes: [], check }
  })
  return { revision: id, unknownModels }
}

/**
 * Deletes a key with its secrets. What it has used stays in the ledger.
 *
 * @param review sees the key and refuses by throwing.
 * @throws {CommandError} GW4005 without such a key, GW4004 where a configuration file declares it.
 */
export async function deleteKey(
  store: Store,
  name: string,
  signed: Signed,
  review: (key: KeyView) => Promise<void>,
): Promise<Revision> {
  const key = findKey(await store.live(), name)
  assertUndeclared(key)
  await review(key)
  return commitOnTop(store, signed, live => {
    assertUndeclared(findKey(live, name))
    return { counts: { ...NONE, delete: 1 }, puts: [], deletes: [{ kind: 'key', name }] }
  })
}

/**
 * Ends every secret of a key at once, whoever owns the key: this is for an incident. The policy stays, and a new
 * secret may be issued.
 *
 * @throws {CommandError} GW4005 without such a key.
 */
export async function revokeKey(store: Store, name: string): Promise<RevokedKey> {
  const key = findKey(await store.live(), name)
  const secrets = await store.revokeSecrets(name)
  const held = key.secretSource === 'hash' || key.secretSource === 'reference'
  if (held) await store.holdKey(name)
  return { secrets, held }
}

type Made = Pick<Commit, 'counts' | 'puts' | 'deletes'> & { readonly check?: Check }

/** Commits what `make` makes of what stands, anew where somebody else was faster. */
async function commitOnTop(store: Store, signed: Signed, make: (live: Live) => Made): Promise<Revision> {
  for (let attempt = 1; ; attempt++) {
    const live = await store.live()
    const { check, ...made } = make(live)
    const commit: Commit = { base: live.head.revision, origin: 'cli', ...signed, ...made }
    try {
      return await store.commit(commit, async (_before, after) => {
        const problems = (await check?.(after)) ?? []
        if (problems.length > 0) throw new CommandError('GW3002', problems.join('\n'))
      })
    } catch (error) {
      const overtaken = error instanceof CommandError && error.code === 'GW4001'
      if (!overtaken || attempt === ATTEMPTS) throw error
    }
  }
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

function assertFree(live: Live, name: string): void {
  const taken = live.resources.find(resource => resourceId(resource) === `key/${name}`)
  if (!taken) return
  throw new CommandError('GW4013', `There is a key ${name} already; it belongs to ${ownerName(taken)}.`)
}

function assertTenant(live: Live, tenant: Json | undefined): void {
  if (typeof tenant !== 'string') return
  const tenants = live.resources.filter(({ kind }) => kind === 'tenant').map(({ name }) => name)
  if (tenants.includes(tenant)) return
  const similar = namedAlike(tenant, tenants)
  throw new CommandError(
    'GW4005',
    `There is no tenant ${tenant}.`,
    similar.length > 0 ? { hint: `Did you mean ${similar.join(' or ')}?` } : {},
  )
}

function assertUndeclared(key: KeyView): void {
  if (key.owner !== 'config') return
  const place = key.place && `${key.place.file}:${key.place.line}`
  throw new CommandError('GW4004', `The key ${key.name} belongs to ${ownerName(key)}.`, {
    hint: `Remove it${place === undefined ? ' there' : ` in ${place}`}, and apply. \`gw keys revoke ${key.name}\` ends its secrets now.`,
  })
}

function modelsUnknown(live: Live, made: Resource): string[] {
  const known = new Set(live.resources.filter(({ kind }) => kind === 'publication').map(({ name }) => name))
  return decode('key', made.spec).models.filter(model => !/[*?]/.test(model) && !known.has(model))
}
