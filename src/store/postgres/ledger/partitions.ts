import { type PlainSql, prepare } from '../../engine.ts'
import { LOCKS, OF_GW } from '../locks.ts'
import { NOW_MS } from './clock-of-store.ts'
import type { Database } from './lane-connection.ts'

const DAY_MS = 86_400_000
/** By the server's clock: those of gateways may be off by hours. */
const HOLDS_KEPT_MS = 7 * DAY_MS

/** Each table, the column that decides about the partition, and the time that a partition has. */
const TABLES = { holds: 'day', ledger: 'month', call_logs: 'day' } as const
export type PartitionedTable = keyof typeof TABLES

/**
 * Keeps the entries of the ledger in their partitions until the end of the transaction. If it sees one moment, this must be its first
 * statement: rows that were put into other partitions since that moment are in none that it reads.
 */
export const LOCK_LEDGER = 'lock table ledger in access share mode'

interface Partition {
  readonly name: string
  readonly fromMs: number
  readonly toMs: number
}

/** The partitions of the tables that grow with each call; made when the first row of their time comes. */
export class Partitions {
  /** Of each table the newest one: an earlier one may have been dropped since, by any gateway. */
  readonly #newest = new Map<PartitionedTable, Partition>()

  /** Makes the partitions of these times if needed. */
  async ensure(db: Database, table: PartitionedTable, times: Iterable<number>): Promise<void> {
    const newest = this.#newest.get(table)
    const needed = new Map<string, Partition>()
    for (const atMs of times) {
      if (newest && atMs >= newest.fromMs && atMs < newest.toMs) continue
      const partition = partitionOf(table, atMs)
      needed.set(partition.name, partition)
    }
    for (const partition of needed.values()) {
      await makePartition(db, table, partition)
      if (partition.fromMs > (this.#newest.get(table)?.fromMs ?? Number.NEGATIVE_INFINITY))
        this.#newest.set(table, partition)
    }
  }
}

/**
 * Attached, not created as a partition: for that PostgreSQL would wait for all who read the table, and all who write it
 * would wait behind. At midnight every gateway makes the next day: the lock lets one do it, and the others find it. An
 * error would end the transaction of a caller that is in one.
 */
async function makePartition(
  db: Database,
  table: PartitionedTable,
  { name, fromMs, toMs }: Partition,
): Promise<void> {
  const isAttached = `select 1 from pg_inherits where inhrelid = to_regclass('${name}')`
  const { rows } = await db.query(isAttached)
  if (rows.length > 0) return
  await db.query(`
    select set_config('synchronous_commit', 'on', true);
    do $$ begin
      perform pg_advisory_xact_lock(${OF_GW}, ${LOCKS.partitions});
      if not exists (${isAttached}) then
        create table if not exists ${name} (like ${table} including defaults including constraints including indexes);
        alter table ${table} attach partition ${name} for values from (${fromMs}) to (${toMs});
      end if;
    end $$`)
}

/** Removes the partitions of a table that have only rows from before a time. */
export async function dropPartitions(db: Database, table: PartitionedTable, beforeMs: number): Promise<void> {
  for (const name of await partitionsBefore(db, table, beforeMs)) await drop(db, name)
}

/**
 * Removes days of holds, from the oldest to the first that an instance has not folded: the holds that are open are in
 * `older_holds`, and the others have their ends. Some days stay for a gateway that sends acknowledged holds again.
 */
export async function dropFoldedHolds(db: Database): Promise<void> {
  const [[nowMs]] = (await db.query(`select ${NOW_MS}`)).rows as [[number]]
  for (const name of await partitionsBefore(db, 'holds', nowMs - HOLDS_KEPT_MS)) {
    const { rows } = await db.query(`
      select 1 from instances join ${name} h on h.instance = instances.serial and h.id > instances.folded_hold limit 1`)
    if (rows.length > 0) return
    await drop(db, name)
  }
}

/**
 * Replaces the months of the ledger that end before a time by such with only some of their rows, and into which no end of a call can
 * be written any more: what has ended of them has ended for good. In a transaction that has the table for itself.
 * @param kept the condition of the rows that stay.
 */
export async function replacePartitions(raw: PlainSql, beforeMs: number, kept: string): Promise<void> {
  const run = async (sql: string) => void (await prepare(raw, sql).run())
  for (const name of await partitionsBefore(asDatabase(raw), 'ledger', beforeMs)) {
    const { fromMs, toMs } = partitionNamed('ledger', name)
    const isOpen = `select 1 from ${name} where not (${kept}) limit 1`
    if (!(await prepare(raw, isOpen).get())) continue
    const rest = `${name}_rest`
    await run(`create table ${rest} (like ledger including defaults including constraints including indexes)`)
    await run(`insert into ${rest} select * from ${name} where ${kept}`)
    await run(`drop table ${name}`)
    await run(`alter table ${rest} rename to ${name}`)
    await run(`alter table ${name} add constraint ${name}_is_closed check (kind >= 2) not valid`)
    await run(`alter table ledger attach partition ${name} for values from (${fromMs}) to (${toMs})`)
  }
}

function asDatabase(raw: PlainSql): Database {
  return {
    async query(text, values = []) {
      const rows = await prepare<unknown[], object>(raw, text.replaceAll(/\$\d+/g, '?')).all(...values)
      return { rows: rows.map(row => Object.values(row)), count: rows.length }
    },
  }
}

/** The names of the partitions that end before a time, in the order of time. */
async function partitionsBefore(
  db: Database,
  table: PartitionedTable,
  beforeMs: number,
): Promise<readonly string[]> {
  const { rows } = await db.query(
    `select c.relname from pg_inherits join pg_class c on c.oid = inhrelid
     where inhparent = to_regclass($1) order by 1`,
    [table],
  )
  return (rows as [string][]).map(([name]) => name).filter(name => endOf(table, name) <= beforeMs)
}

/** Readers of the table would have to end first, and all who write it would wait behind. */
async function drop(db: Database, name: string): Promise<void> {
  await db.query(`select set_config('lock_timeout', '200', true); drop table ${name}`)
}

function partitionOf(table: PartitionedTable, atMs: number): Partition {
  const at = new Date(atMs)
  const [year, month] = [at.getUTCFullYear(), at.getUTCMonth()]
  const digits = at.toISOString().replaceAll('-', '')
  if (TABLES[table] === 'month') {
    const name = `${table}_${digits.slice(0, 6)}`
    return { name, fromMs: Date.UTC(year, month), toMs: Date.UTC(year, month + 1) }
  }
  const fromMs = Date.UTC(year, month, at.getUTCDate())
  return { name: `${table}_${digits.slice(0, 8)}`, fromMs, toMs: fromMs + DAY_MS }
}

function endOf(table: PartitionedTable, name: string): number {
  return partitionNamed(table, name).toMs
}

function partitionNamed(table: PartitionedTable, name: string): Partition {
  const digits = name.slice(table.length + 1)
  const [year, month, day] = [digits.slice(0, 4), digits.slice(4, 6), digits.slice(6) || '01'].map(Number)
  return partitionOf(table, Date.UTC(year as number, (month as number) - 1, day))
}
