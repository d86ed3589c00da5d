import type { Kysely } from 'kysely'
import type { Kind } from '../schema/kinds.ts'
import type { Tables } from './tables.ts'
import type { Commit, OwnedResource, Rename, StoredResource } from './types.ts'

/** Accounts whose name is not theirs, by `kind/account`. */
export type AccountNames = ReadonlyMap<string, string>

/** SQLite takes 32766 parameters in a statement. */
const MAX_ASKED = 1_000

/** @param of accounts and names that matter; absent: all. Of very many it may give others as well. */
export async function selectAccountNames(
  db: Kysely<Tables>,
  of?: readonly { readonly name: string }[],
): Promise<AccountNames> {
  let query = db.selectFrom('accounts').selectAll()
  if (of && of.length <= MAX_ASKED) {
    const names = of.map(({ name }) => name)
    query = query.where(row => row.or([row('account', 'in', names), row('name', 'in', names)]))
  }
  const rows = await query.execute()
  return new Map(rows.map(({ kind, account, name }) => [`${kind}/${account}`, name]))
}

/** What stands, each under the name that it gets. */
export function underNewNames(
  before: readonly StoredResource[],
  renames: readonly Rename[],
): readonly StoredResource[] {
  if (renames.length === 0) return before
  const names = new Map(renames.map(({ kind, from, to }) => [`${kind}/${from}`, to]))
  return before.map(resource => {
    const name = names.get(`${resource.kind}/${resource.name}`)
    if (name === undefined) return resource
    // Nothing is booked by binding: it is its two ends.
    if (resource.kind === 'binding') return { ...resource, name }
    const account = resource.account ?? resource.name
    const { account: _old, ...rest } = resource
    return { ...rest, name, ...(account !== name && { account }) }
  })
}

/** What people and money belong to is its account, never its name: these get a new one where their name had one. */
const OWN_ACCOUNTS: ReadonlySet<Kind> = new Set<Kind>(['tenant', 'key'])

/**
 * The account of a resource that comes: its name, unless another one has booked under it before it was renamed or
 * deleted, or still does.
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

/** Remembers the accounts of what is deleted, so that nothing that comes later is booked under them. */
export async function retireAccounts(
  db: Kysely<Tables>,
  before: readonly StoredResource[],
  deletes: Commit['deletes'],
): Promise<void> {
  const gone = new Set(deletes.map(({ kind, name }) => `${kind}/${name}`))
  for (const { kind, name, account = name } of before) {
    if (!OWN_ACCOUNTS.has(kind) || !gone.has(`${kind}/${name}`)) continue
    await db
      .insertInto('accounts')
      .values({ kind, account, name })
      .onConflict(conflict => conflict.columns(['kind', 'account']).doNothing())
      .execute()
  }
}

/** Brings everything that goes by name to the new names. What the ledger has booked stays as it is. */
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
    if (kind === 'tenant')
      await db.updateTable('users').set({ tenant: to }).where('tenant', '=', from).execute()
  }
}

/**
 * Keeps which account is called what, for everything that stands after a commit.
 *
 * @param revision the one that the commit makes.
 */
export async function writeAccountNames(
  db: Kysely<Tables>,
  after: readonly StoredResource[],
  known: AccountNames,
  revision: number,
): Promise<void> {
  const standing = new Set(after.map(({ kind, name, account = name }) => `${kind}/${account}`))
  const holders = new Map<string, string>()
  for (const [id, name] of known) {
    const slash = id.indexOf('/')
    holders.set(`${id.slice(0, slash)}/${name}`, id.slice(slash + 1))
  }
  for (const { kind, name, account = name } of after) {
    const called = known.get(`${kind}/${account}`)
    const holder = holders.get(`${kind}/${name}`)
    const isAlone = holder === undefined || holder === account
    if (isAlone && (called === name || (called === undefined && account === name))) continue
    // What was called so last and is gone gets a label that no resource can have.
    if (!isAlone && !standing.has(`${kind}/${holder}`)) {
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

/** Names to accounts and back, as of one moment. */
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

  /** Whether every account is called what it is. */
  get isPlain(): boolean {
    return this.#names.size === 0
  }

  nameOf(kind: Kind, account: string): string {
    return this.#names.get(`${kind}/${account}`) ?? account
  }

  accountOf(kind: Kind, name: string): string {
    return this.#accounts.get(`${kind}/${name}`) ?? name
  }
}
