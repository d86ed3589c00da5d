import { ESTIMATED, UNPRICED, USAGE_COLUMNS } from '../../ledger/columns.ts'
import { QUARTER_MS } from '../../ledger/usage-sums.ts'
import { LOCKS, OF_GW } from '../locks.ts'
import type { Database } from './lane-connection.ts'

const DAY_MS = 86_400_000
/** The columns of a table of sums of usage, and what each adds up of the entries. */
export const USAGE_SUMS: readonly (readonly [column: string, expression: string])[] = [
  ['requests', 'count(*)'],
  ...USAGE_COLUMNS.map(column => [column, `sum(${column})`] as const),
  ['amount_units', 'sum(amount_nano / 1000000000)'],
  ['amount_nano', 'sum(amount_nano % 1000000000)'],
  ['estimated', `count(*) filter (where flags & ${ESTIMATED} <> 0)`],
  ['unpriced', `count(*) filter (where flags & ${UNPRICED} <> 0)`],
]
const KEY_SUMS: typeof USAGE_SUMS = [
  ['tokens', 'sum(input_tokens + output_tokens)'],
  ['amount_units', 'sum(amount_nano / 1000000000)'],
  ['amount_nano', 'sum(amount_nano % 1000000000)'],
]
const WALLET_SUMS: typeof USAGE_SUMS = [
  ['balance_units', '-sum(amount_nano / 1000000000)'],
  ['balance_nano', '-sum(amount_nano % 1000000000)'],
]

/**
 * A part of the fold: adds sums of the charges to a table.
 * @param place the primary key, and how a charge has it.
 */
function addSums(
  table: string,
  place: readonly (readonly [column: string, expression: string])[],
  sums: typeof USAGE_SUMS,
  condition = 'true',
): string {
  const keys = place.map(([column]) => column)
  const numbers = keys.map((_, at) => at + 1).join(', ')
  return `
    insert into ${table} as t (${[...keys, ...sums.map(([column]) => column)].join(', ')})
    select ${[...place, ...sums].map(([, expression]) => expression).join(', ')}
    from charge where ${condition} group by ${numbers} order by ${numbers}
    on conflict (${keys.join(', ')}) do update set
      ${sums.map(([column]) => `${column} = t.${column} + excluded.${column}`).join(', ')}`
}

/** How a charge has the columns of the tables of usage. */
const IN_CHARGE = {
  key_name: 'key_name',
  quarter: `at_ms / ${QUARTER_MS}`,
  day: `at_ms / ${DAY_MS}`,
  tenant: `coalesce(tenant, '')`,
  publication: 'publication',
  endpoint: 'endpoint',
} as const

const usageIn = (table: string, ...place: readonly (keyof typeof IN_CHARGE)[]) =>
  addSums(
    table,
    place.map(column => [column, IN_CHARGE[column]] as const),
    USAGE_SUMS,
  )

const SAME_HOLD = (a: string, b: string) =>
  `${a}.request = ${b}.request and ${a}.attempt = ${b}.attempt and ${a}.opened_at_ms = ${b}.opened_at_ms`

/**
 * Everything that an instance has written since its last fold, by what the tables say alone: it may be repeated at any
 * time, by any gateway. The first statement lets one gateway fold at a time; the second sees what the one before has
 * written.
 */
const FOLD = (id: string, lastHold: number | undefined) => `
  select set_config('lock_timeout', '2000', true), pg_advisory_xact_lock(${OF_GW}, ${LOCKS.folds});
  with me as materialized (select serial, folded_hold, folded_end from instances where id = '${id}'),
  fresh as materialized (
    select l.* from me join ledger l on l.instance = me.serial and l.id > me.folded_end),
  charge as materialized (
    select fresh.*, key.name as key_name, tenant.name as tenant, publication.name as publication,
      endpoint.name as endpoint
    from fresh
    join ledger_names key on key.id = key_id
    join ledger_names publication on publication.id = publication_id
    join ledger_names endpoint on endpoint.id = endpoint_id
    left join ledger_names tenant on tenant.id = tenant_id
    where kind = 0),
  quarters as (${usageIn('usage_quarters', 'key_name', 'quarter', 'tenant', 'publication', 'endpoint')}),
  days as (${usageIn('usage_days', 'key_name', 'day', 'tenant', 'publication', 'endpoint')}),
  key_days as (${usageIn('usage_key_days', 'key_name', 'day', 'tenant')}),
  model_days as (${usageIn('usage_model_days', 'day', 'tenant', 'publication', 'endpoint')}),
  keys as (${addSums('key_totals', [['key_name', 'key_name']], KEY_SUMS)}),
  spent as (${addSums('wallets', [['tenant', 'tenant']], WALLET_SUMS, 'tenant is not null')}),
  closed as (delete from older_holds o using fresh where ${SAME_HOLD('o', 'fresh')}),
  opened as (
    insert into older_holds
    select h.* from me join holds h on h.instance = me.serial and h.id > me.folded_hold
      ${lastHold === undefined ? '' : `and h.id <= ${lastHold}`}
    where not exists (select 1 from ledger l where ${SAME_HOLD('l', 'h')}))
  update instances set
    folded_end = greatest(folded_end, (select max(id) from fresh)),
    folded_hold = greatest(folded_hold, ${lastHold ?? `(select max(h.id) from me join holds h on h.instance = me.serial)`})
  where id = '${id}'`

const INSTANCE = /^[0-9a-f]+$/

/** For statements that have the id in their text. */
export function assertInstance(id: string): void {
  if (!INSTANCE.test(id)) throw new Error(`${id} is no id of an instance`)
}

/**
 * Adds what an instance has written to the sums.
 * @param lastHold Up to this one, all holds of the instance that will ever come are committed; undefined: all of them are.
 */
export async function fold(db: Database, instance: string, lastHold: number | undefined): Promise<void> {
  assertInstance(instance)
  await db.query(FOLD(instance, lastHold))
}
