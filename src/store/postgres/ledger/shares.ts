import type { Hold } from '../../../schema/ledger.ts'
import type { ScopeName, ShareMessage, ShareReply } from '../../../schema/shares.ts'
import { Grantor } from '../../shares/grantor.ts'
import type { InstanceAnswers, InstanceQuery } from '../../shares/instance-queries.ts'
import { newScope } from '../../shares/rules.ts'
import { selectInstances } from './instance-rows.ts'
import type { Database } from './lane-connection.ts'
import { insertScopes, LoadedShareTables, type ScopeToLoad } from './share-tables.ts'

/** An attempt loses only to one that another gateway has completed. */
const MAX_ATTEMPTS = 200
const SHARES_AT_ONCE = 500

const RECALLED = `
  select s.owner, s.limit_name from scopes s
  join shares h on h.instance = $1 and h.owner = s.owner and h.limit_name = s.limit_name where s.wanted <> 0`
const SHARES = `
  select owner, limit_name from shares where instance = $1 and (owner, limit_name) > ($2, $3)
  order by owner, limit_name limit ${SHARES_AT_ONCE}`

/** The gateways of the store, and the grantor of their shares, as one gateway uses them. */
export class PostgresShares {
  readonly #db: Database
  readonly #id: string
  readonly #leaseMs: number

  constructor(db: Database, id: string, leaseMs: number) {
    this.#db = db
    this.#id = id
    this.#leaseMs = leaseMs
  }

  async answer(
    query: Exclude<InstanceQuery, { readonly query: 'leave' }>,
  ): Promise<InstanceAnswers[InstanceQuery['query']]> {
    switch (query.query) {
      case 'join':
        // Registered when the ledger was opened. Never whole: another gateway could not wait until this one declares what it uses.
        return { instance: this.#id, isWhole: false, leaseMs: this.#leaseMs }
      case 'instances': {
        const instances = await selectInstances(this.#db)
        const { rows } = await this.#db.query(RECALLED, [this.#id])
        return {
          instances: instances.map(({ id, serial }) => ({ id, lane: serial, isWhole: false })),
          recalled: (rows as [string, string][]).map(([owner, limit]) => ({ owner, limit })),
        }
      }
      case 'declare':
        if (query.shares.length > 0)
          throw new Error('what was used before there were shares is unknown to others')
        return undefined
      case 'share':
        return applyMessage(this.#db, query.message, this.#leaseMs)
    }
  }

  /**
   * Frees the shares of an instance that is fenced, except for what its open holds need.
   * @returns whether nothing is left.
   */
  recover(id: string, open: readonly Hold[]): Promise<boolean> {
    return recoverShares(this.#db, id, scope => heldOf(scope, open))
  }

  /** Ends this instance, which has no open hold. */
  async leave(): Promise<void> {
    await this.#db.query('update instances set is_fenced = 1, fenced_by = id where id = $1', [this.#id])
    await recoverShares(this.#db, this.#id, () => 0n)
  }
}

/** Carries a message out, by the rules of the grantor. */
export async function applyMessage(
  db: Database,
  message: ShareMessage,
  leaseMs: number | undefined,
): Promise<ShareReply> {
  const scopes = message.requests.map(({ scope, terms }) => ({ name: scope, sinceMs: terms.sinceMs }))
  return change(db, message.instance, scopes, async tables => {
    const missing = new Set(tables.missing(scopes.map(({ name }) => name)))
    if (missing.size > 0) {
      await insertScopes(
        db,
        message.requests
          .filter(({ scope }) => missing.has(scope))
          .map(({ scope, terms }) => ({ name: scope, state: newScope(terms, tables.nowMs) })),
      )
      return undefined
    }
    return new Grantor(tables, { leaseMs }).apply(message, tables.nowMs)
  })
}

/** Frees the shares of a fenced instance. @returns whether nothing is left. */
export async function recoverShares(
  db: Database,
  id: string,
  heldOf: (scope: ScopeName) => bigint,
): Promise<boolean> {
  let isDone = true
  for (let after: ScopeName | undefined = { owner: '', limit: '' }; after; ) {
    const { rows } = await db.query(SHARES, [id, after.owner, after.limit])
    const names = (rows as [string, string][]).map(([owner, limit]) => ({ owner, limit }))
    const isFree = await change(
      db,
      id,
      names.map(name => ({ name, sinceMs: 0 })),
      async tables => new Grantor(tables, { leaseMs: undefined }).recover(id, heldOf, tables.nowMs),
    )
    isDone &&= isFree
    after = names.length === SHARES_AT_ONCE ? names.at(-1) : undefined
  }
  return isDone
}

/**
 * Runs the grantor on the tables as they are, and writes what it has changed; again, if another gateway has changed them
 * meanwhile.
 * @param work undefined: the tables must be read once more.
 */
async function change<T>(
  db: Database,
  id: string,
  scopes: readonly ScopeToLoad[],
  work: (tables: LoadedShareTables) => Promise<T | undefined>,
): Promise<T> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const tables = await LoadedShareTables.load(db, id, scopes)
    const result = await work(tables)
    if (result !== undefined && (await tables.save(db))) return result
  }
  throw new Error('other gateways change the same limits all the time')
}

/** What open holds need of a limit. Of a rate nothing: its units are used. */
function heldOf({ owner, limit }: ScopeName, open: readonly Hold[]): bigint {
  const own = open.filter(({ key, tenant }) => owner === `key ${key}` || owner === `tenant ${tenant}`)
  if (limit === 'concurrency') return BigInt(own.length)
  if (limit === 'quota') return own.reduce((sum, { tokens }) => sum + BigInt(tokens), 0n)
  if (/^(budget|balance)/.test(limit)) return own.reduce((sum, { amountNano }) => sum + amountNano, 0n)
  return 0n
}
