import { type Kysely, sql } from 'kysely'
import { CommandError } from '../../base/catalogue/command.ts'
import { formatNano } from '../../base/decimal.ts'
import type { Flag } from '../../schema/ledger.ts'
import type { Tenant } from '../../schema/tenant.ts'
import { wantedByDebit } from '../shares/rules.ts'
import type { Tables } from '../tables.ts'
import {
  codeOf,
  type EntryKind,
  KINDS,
  nameOf,
  parts,
  toFlags,
  toNano,
  toUsage,
  USAGE_COLUMNS,
  type UsageCells,
} from './columns.ts'
import { type LedgerDialect, SQLITE_LEDGER } from './dialect.ts'
import type { Adjustment, AdjustmentResult, EntriesPage, Wallet, WalletEntry } from './types.ts'

/** A row of the ledger that changed a balance. */
interface EntryRow extends UsageCells {
  readonly id: number
  readonly kind: number
  readonly at_ms: number
  readonly nano: string
  readonly reference: string | null
  readonly note: string | null
  readonly author: string | null
  readonly requestId: string | null
  readonly key: string | null
  readonly publication: string | null
  readonly flags: number
  readonly price: string | null
}

/** The kinds of entries that are not charges of calls. */
type AdjustmentKind = 'credit' | 'debit' | 'adjust'

/** All tenants with a balance or a hold, by name; or only the given one, with zeros if it has neither. */
export async function selectWallets(db: Kysely<Tables>, only?: string): Promise<Wallet[]> {
  let balances = db
    .selectFrom('wallets')
    .select([
      'tenant',
      sql<string>`cast(balance_units as text)`.as('units'),
      sql<string>`cast(balance_nano as text)`.as('nano'),
    ])
  // Amounts are added up in two parts for the same reason as in `wallets`: 64 bits may overflow.
  let holds = db
    .selectFrom('open_holds')
    .select([
      'tenant',
      sql<string>`cast(sum(amount_nano / 1000000000) as text)`.as('units'),
      sql<string>`cast(sum(amount_nano % 1000000000) as text)`.as('nano'),
    ])
    .where('tenant', 'is not', null)
    .groupBy('tenant')
  if (only !== undefined) {
    balances = balances.where('tenant', '=', only)
    holds = holds.where('tenant', '=', only)
  }
  const wallets = new Map<string, Wallet>()
  if (only !== undefined) wallets.set(only, { tenant: only, balanceNano: 0n, heldNano: 0n })
  for (const { tenant, ...sum } of await balances.execute()) {
    wallets.set(tenant, { tenant, balanceNano: toNano(sum), heldNano: 0n })
  }
  for (const { tenant, ...sum } of await holds.execute()) {
    if (tenant === null) continue
    const balanceNano = wallets.get(tenant)?.balanceNano ?? 0n
    wallets.set(tenant, { tenant, balanceNano, heldNano: toNano(sum) })
  }
  return [...wallets.values()].sort((a, b) => (a.tenant < b.tenant ? -1 : 1))
}

/** The balances other than zero of existing tenants, by name. */
export async function selectBalances(
  db: Kysely<Tables>,
): Promise<{ readonly tenant: string; readonly balanceNano: bigint }[]> {
  const rows = await db
    .selectFrom('wallets')
    .innerJoin('resources', join =>
      join.onRef(sql`coalesce(account, name)`, '=', 'wallets.tenant').on('kind', '=', 'tenant'),
    )
    .select([
      'name',
      sql<string>`cast(balance_units as text)`.as('units'),
      sql<string>`cast(balance_nano as text)`.as('nano'),
    ])
    .orderBy('name')
    .execute()
  return rows.flatMap(({ name, ...sum }) => {
    const balanceNano = toNano(sum)
    return balanceNano === 0n ? [] : { tenant: name, balanceNano }
  })
}

export async function selectWalletEntries(
  db: Kysely<Tables>,
  tenant: string,
  page: EntriesPage,
  dialect: LedgerDialect = SQLITE_LEDGER,
): Promise<WalletEntry[]> {
  let query = entries(db, dialect)
    .where('ledger.tenant_id', '=', idOf(tenant))
    // Must match the condition of the index `ledger_by_tenant`, or SQLite cannot use it.
    .where(sql<boolean>`kind <> 1`)
    .orderBy('ledger.id', 'desc')
    .limit(page.limit ?? 50)
  if (page.before !== undefined) query = query.where('ledger.id', '<', page.before)
  if (page.kinds) query = query.where('kind', 'in', page.kinds.map(codeOf))
  return (await query.execute()).map(toEntry)
}

/**
 * Records a credit, a debit or an adjustment, once per reference. Runs in a transaction that holds the write lock.
 * @param canWait For what gateways may spend of the balance and do not use.
 * @returns undefined if they must return it first: nothing was booked.
 * @throws {CommandError} not_found, reference_taken, balance_too_low
 */
export async function adjust(
  db: Kysely<Tables>,
  kind: AdjustmentKind,
  adjustment: Adjustment,
  { nowMs, canWait }: { readonly nowMs: number; readonly canWait: boolean },
  dialect: LedgerDialect = SQLITE_LEDGER,
): Promise<AdjustmentResult | undefined> {
  const { tenant, amountNano, reference } = adjustment
  const movedNano = kind === 'debit' ? -amountNano : amountNano
  if (kind === 'adjust' ? amountNano === 0n : amountNano <= 0n)
    throw new RangeError(`a ${kind} of ${amountNano} nano-units`)
  const billing = await billingOf(db, tenant)
  const first = await entries(db, dialect)
    .where('adjustments.tenant_id', '=', idOf(tenant))
    .where('ledger.tenant_id', '=', idOf(tenant))
    .where(sql<boolean>`kind <> 1`)
    .where('reference', '=', reference)
    .executeTakeFirst()
  if (first) {
    assertSame(kind, adjustment, first)
    const { balanceNano } = await walletOf(db, tenant)
    return { entry: toEntry(first), isNew: false, balanceNano }
  }

  await dialect.lockBalance(db, tenant, nowMs)
  const wallet = await walletOf(db, tenant)
  const balanceNano = wallet.balanceNano + movedNano
  if (movedNano < 0n && billing === 'prepaid') {
    // Under the same lock the gateways hold, and are granted, no more than the balance covers: so it never falls below 0.
    const leasedNano = await leaveLeased(db, tenant, balanceNano)
    const heldNano = leasedNano > wallet.heldNano ? leasedNano : wallet.heldNano
    if (canWait && wallet.heldNano <= balanceNano && balanceNano < leasedNano) return undefined
    if (balanceNano < heldNano) {
      throw new CommandError(
        'balance_too_low',
        `${kind === 'debit' ? 'A debit' : 'An adjustment'} of ${formatNano(amountNano)} would leave ${formatNano(balanceNano - heldNano)}: ` +
          `balance ${formatNano(wallet.balanceNano)}, held ${formatNano(heldNano)}.`,
      )
    }
  }
  await db
    .insertInto('ledger_names')
    .values({ name: tenant })
    .onConflict(conflict => conflict.doNothing())
    .execute()
  const { id } = await db
    .insertInto('ledger')
    .values({
      kind: codeOf(kind),
      at_ms: nowMs,
      tenant_id: idOf(tenant),
      amount_nano: amountNano,
      flags: 0,
      ...dialect.adjustmentColumns(nowMs),
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  const { note = null, author = null } = adjustment
  await db
    .insertInto('adjustments')
    .values({ entry_id: id, tenant_id: idOf(tenant), reference, note, author })
    .execute()
  const [units, rest] = parts(balanceNano)
  await db
    .insertInto('wallets')
    .values({ tenant, balance_units: units, balance_nano: rest })
    .onConflict(conflict =>
      conflict.column('tenant').doUpdateSet({ balance_units: units, balance_nano: rest }),
    )
    .execute()
  await db.updateTable('ledger_head').set({ wallet_version: id }).execute()
  const row = await entries(db, dialect)
    .where('ledger.tenant_id', '=', idOf(tenant))
    .where(sql<boolean>`kind <> 1`)
    .where('ledger.id', '=', id)
    .executeTakeFirstOrThrow()
  return { entry: toEntry(row), isNew: true, balanceNano }
}

/**
 * What gateways may spend of a balance without asking. If a debit that leaves `balanceNano` needs some of it, they return
 * what they do not use within a moment.
 */
async function leaveLeased(db: Kysely<Tables>, tenant: string, balanceNano: bigint): Promise<bigint> {
  const isBalance = { owner: `tenant ${tenant}`, limit_name: 'balance' }
  const row = await db
    .selectFrom('scopes')
    .select([sql<string>`cast(leased as text)`.as('leased'), sql<string>`cast(wanted as text)`.as('wanted')])
    .where('owner', '=', isBalance.owner)
    .where('limit_name', '=', isBalance.limit_name)
    .executeTakeFirst()
  if (!row) return 0n
  const scope = { leased: BigInt(row.leased), wanted: BigInt(row.wanted) }
  const wanted = wantedByDebit(scope, balanceNano)
  if (wanted !== scope.wanted)
    await db
      .updateTable('scopes')
      .set({ wanted: String(wanted) })
      .where('owner', '=', isBalance.owner)
      .where('limit_name', '=', isBalance.limit_name)
      .execute()
  return scope.leased
}

function entries(db: Kysely<Tables>, { requestIdOf }: LedgerDialect) {
  return db
    .selectFrom('ledger')
    .leftJoin('adjustments', 'entry_id', 'ledger.id')
    .select(['ledger.id', 'kind', 'at_ms', ...USAGE_COLUMNS, 'flags', 'reference', 'note', 'author'])
    .select([
      sql<string>`cast(amount_nano as text)`.as('nano'),
      sql.raw<string | null>(requestIdOf('request')).as('requestId'),
      sql.raw<string | null>(nameOf('key_id')).as('key'),
      sql.raw<string | null>(nameOf('publication_id')).as('publication'),
    ])
    .select(eb =>
      eb.selectFrom('ledger_prices').select('price').whereRef('id', '=', 'ledger.price_id').as('price'),
    )
}

/** The number of a name; null if nothing was ever recorded for it. */
function idOf(name: string) {
  return sql<number>`(select id from ledger_names where name = ${name})`
}

async function walletOf(db: Kysely<Tables>, tenant: string): Promise<Wallet> {
  const [wallet] = await selectWallets(db, tenant)
  return wallet ?? { tenant, balanceNano: 0n, heldNano: 0n }
}

async function billingOf(db: Kysely<Tables>, tenant: string): Promise<Tenant['billing'] | undefined> {
  const row = await db
    .selectFrom('resources')
    .select('spec')
    .where('kind', '=', 'tenant')
    // By account, as in the whole ledger.
    .where(eb => eb.fn.coalesce('account', 'name'), '=', tenant)
    .executeTakeFirst()
  if (!row) throw new CommandError('not_found', `There is no tenant ${tenant}.`)
  return (JSON.parse(row.spec) as Partial<Tenant>).billing
}

/** The same reference with the same kind and amount is the same payment; with other values it is a conflict. */
function assertSame(kind: AdjustmentKind, { amountNano, reference }: Adjustment, first: EntryRow): void {
  if (KINDS[first.kind] === kind && BigInt(first.nano) === amountNano) return
  throw new CommandError(
    'reference_taken',
    `${reference} is ${nounOf(KINDS[first.kind] as EntryKind)} of ${formatNano(BigInt(first.nano))} already, entry ${first.id}.`,
  )
}

function nounOf(kind: EntryKind): string {
  return kind === 'adjust' ? 'an adjustment' : `a ${kind}`
}

function toEntry(row: EntryRow): WalletEntry {
  const kind = KINDS[row.kind]
  if (kind === undefined || kind === 'release') throw new Error(`entry ${row.id} moves no balance`)
  const takes = kind === 'settle' || kind === 'debit'
  const flags: readonly Flag[] = toFlags(row.flags)
  return {
    id: row.id,
    kind,
    atMs: row.at_ms,
    amountNano: takes ? -BigInt(row.nano) : BigInt(row.nano),
    ...(row.reference !== null && { reference: row.reference }),
    ...(row.note !== null && { note: row.note }),
    ...(row.author !== null && { author: row.author }),
    ...(row.requestId !== null && { requestId: row.requestId }),
    ...(row.key !== null && { key: row.key }),
    ...(row.publication !== null && { publication: row.publication }),
    ...(kind === 'settle' && { usage: toUsage(row) }),
    ...(row.price !== null && { price: row.price }),
    flags,
  }
}
