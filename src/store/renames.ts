import type { Kysely } from 'kysely'
import type { Kind } from '../schema/kinds.ts'
import { chunks } from './chunks.ts'
import type { Tables } from './tables.ts'
import type { Commit, OwnedResource, Rename, StoredResource } from './types.ts'

/** Accounts that differ from the name of their resource: the name by `kind/account`. */
export type AccountNames = ReadonlyMap<string, string>

/** SQLite accepts at most 32766 parameters in a statement. */
const MAX_NAMES = 1_000

/** @param of accounts and names to select; absent: all. For a long list the result may include others. */
export async function selectAccountNames(
  db: Kysely<Tables>,
  of?: readonly { readonly name: string }[],
): Promise<AccountNames> {
  let query = db.selectFrom('accounts').selectAll()
  if (of && of.length <= MAX_NAMES) {
    const names = of.map(({ name }) => name)
    query = query.where(row => row.or([row('account', 'in', names), row('name', 'in', names)]))
  }
  const rows = await query.execute()
  return new Map(rows.map(({ kind, account, name }) => [`${kind}/${account}`, name]))
}

/** The ledger account of a resource. */
export function accountOf({ name, account = name }: Pick<StoredResource, 'name' | 'account'>): string {
  return account
}

/** The resources before a commit, under their new names. */
export function underNewNames(
  before: readonly StoredResource[],
  renames: readonly Rename[],
): readonly StoredResource[] {
  if (renames.length === 0) return before
  const names = new Map(renames.map(({ kind, from, to }) => [`${kind}/${from}`, to]))
  return before.map(resource => {
    const name = names.get(`${resource.kind}/${resource.name}`)
    if (name === undefined) return resource
    // Bindings have no account of their own: usage is recorded for both ends.
    if (resource.kind === 'binding') return { ...resource, name }
    const account = resource.account ?? resource.name
    const { account: _old, ...rest } = resource
    return { ...rest, name, ...(account !== name && { account }) }
  })
}

/**
 * Users and money belong to the account of these kinds, not to the name: a new resource under a used name gets a new
 * account.
 */
export const OWN_ACCOUNTS: ReadonlySet<Kind> = new Set<Kind>(['tenant', 'key'])

/**
 * The account of a new resource: its name, unless an earlier or existing resource has recorded usage under that name.
 */
export function accountOfNew(
  { kind, name, account }: OwnedResource,
  revision: number,
  names: AccountNames,
): string | undefined {
  if (account !== undefined) return account === name ? undefined : account
  const takenBy = names.get(`${kind}/${name}`)
  const isFree = takenBy === undefined || (takenBy === name && !OWN_ACCOUNTS.has(kind))
  return isFree ? undefined : `${name}~r${revision}`
}

/** Records the accounts of deleted resources, so that no later resource reuses them. */
export async function retireAccounts(
  db: Kysely<Tables>,
  before: readonly StoredResource[],
  deletes: Commit['deletes'],
): Promise<void> {
  const deleted = new Set(deletes.map(({ kind, name }) => `${kind}/${name}`))
  const retired = before
    .filter(({ kind, name }) => OWN_ACCOUNTS.has(kind) && deleted.has(`${kind}/${name}`))
    .map(({ kind, name, account = name }) => ({ kind, account, name }))
  for (const some of chunks(retired)) {
    await db
      .insertInto('accounts')
      .values(some)
      .onConflict(conflict => conflict.columns(['kind', 'account']).doNothing())
      .execute()
  }
}

/** Moves all references to the new names. The ledger keeps its accounts. */
export async function writeRenames(db: Kysely<Tables>, renames: readonly Rename[]): Promise<void> {
  for (const { kind, from, to } of renames) {
    await db
      .updateTable('resources')
      .set({ name: to })
      .where('kind', '=', kind)
      .where('name', '=', from)
      .execute()
    if (kind === 'key') {
      await db.updateTable('key_secrets').set({ key_name: to }).where('key_name', '=', from).execute()
      await db.updateTable('key_suspensions').set({ key_name: to }).where('key_name', '=', from).execute()
    }
    if (kind === 'tenant') {
      await db.updateTable('users').set({ tenant: to }).where('tenant', '=', from).execute()
      await db.updateTable('tokens').set({ tenant: to }).where('tenant', '=', from).execute()
    }
  }
}

/**
 * Records the current name of each account after a commit.
 * @param revision the new revision.
 */
export async function writeAccountNames(
  db: Kysely<Tables>,
  after: readonly StoredResource[],
  known: AccountNames,
  revision: number,
): Promise<void> {
  const existing = new Set(after.map(({ kind, name, account = name }) => `${kind}/${account}`))
  const holders = new Map<string, string>()
  for (const [id, name] of known) {
    const slash = id.indexOf('/')
    holders.set(`${id.slice(0, slash)}/${name}`, id.slice(slash + 1))
  }
  for (const { kind, name, account = name } of after) {
    const recordedName = known.get(`${kind}/${account}`)
    const holder = holders.get(`${kind}/${name}`)
    const isAlone = holder === undefined || holder === account
    if (isAlone && (recordedName === name || (recordedName === undefined && account === name))) continue
    // A deleted resource that had this name last gets a label that no resource can have.
    if (!isAlone && !existing.has(`${kind}/${holder}`)) {
      const label = holder.includes('~') ? holder : `${holder}~until-r${revision}`
      await db
        .updateTable('accounts')
        .set({ name: label })
        .where('kind', '=', kind)
        .where('account', '=', holder)
        .execute()
    }
    await db
      .insertInto('accounts')
      .values({ kind, account, name })
      .onConflict(conflict => conflict.columns(['kind', 'account']).doUpdateSet({ name }))
      .execute()
  }
}

/** Maps names to accounts and back, as of one moment. */
export class Accounts {
  readonly #names: AccountNames
  readonly #accounts: ReadonlyMap<string, string>

  constructor(names: AccountNames) {
    this.#names = names
    this.#accounts = new Map(
      [...names].map(([id, name]) => {
        const slash = id.indexOf('/')
        return [`${id.slice(0, slash)}/${name}`, id.slice(slash + 1)]
      }),
    )
  }

  /** Whether every account equals the name of its resource. */
  get isPlain(): boolean {
    return this.#names.size === 0
  }

  /** The names of accounts that differ from them, by account; undefined: none. */
  namesOf(kind: Kind): Readonly<Record<string, string>> | undefined {
    const start = `${kind}/`
    const differing = [...this.#names].flatMap(([id, name]) =>
      id.startsWith(start) && id !== start + name ? [[id.slice(start.length), name] as const] : [],
    )
    return differing.length > 0 ? Object.fromEntries(differing) : undefined
  }

  nameOf(kind: Kind, account: string): string {
    return this.#names.get(`${kind}/${account}`) ?? account
  }

  accountOf(kind: Kind, name: string): string {
    return this.#accounts.get(`${kind}/${name}`) ?? name
  }
}
