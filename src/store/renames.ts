import type { Kysely } from 'kysely'
import type { Kind } from '../schema/kinds.ts'
import type { Tables } from './tables.ts'
import type { OwnedResource, Rename, StoredResource } from './types.ts'

/** Accounts whose name is not theirs, by `kind/account`. */
export type AccountNames = ReadonlyMap<string, string>

export async function selectAccountNames(db: Kysely<Tables>): Promise<AccountNames> {
  const rows = await db.selectFrom('accounts').selectAll().execute()
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

/**
 * The account of a resource that comes: its name, unless another one has booked under it before it was renamed, or
 * still does.
 */
export function accountOfNew(
  { kind, name, account }: OwnedResource,
  revision: number,
  names: AccountNames,
): string | undefined {
  if (account !== undefined) return account === name ? undefined : account
  const takenBy = names.get(`${kind}/${name}`)
  return takenBy === undefined || takenBy === name ? undefined : `${name}~r${revision}`
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
      await db.updateTable('key_holds').set({ key_name: to }).where('key_name', '=', from).execute()
    }
    if (kind === 'tenant')
      await db.updateTable('users').set({ tenant: to }).where('tenant', '=', from).execute()
  }
}

/** Keeps which account is called what, for everything that stands after a commit. */
export async function writeAccountNames(
  db: Kysely<Tables>,
  after: readonly StoredResource[],
  known: AccountNames,
): Promise<void> {
  for (const { kind, name, account = name } of after) {
    const called = known.get(`${kind}/${account}`)
    if (called === name || (called === undefined && account === name)) continue
    // Whoever was called so last is gone, and is called by its account again.
    await db
      .updateTable('accounts')
      .set(row => ({ name: row.ref('account') }))
      .where('kind', '=', kind)
      .where('name', '=', name)
      .execute()
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
