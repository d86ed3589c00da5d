import { randomBytes } from 'node:crypto'
import { NOW_MS } from './clock-of-store.ts'
import { assertInstance, fold } from './fold.ts'
import type { Database } from './lane-connection.ts'
import type { ProcessIdentity } from './process-identity.ts'

const ID_BYTES = 8
/** The lease of an instance that an operator has said will never return. */
export const FORGOTTEN_AT_MS = 0

/** A gateway as the store knows it. */
export interface StoredInstance {
  readonly id: string
  readonly serial: number
  readonly isFenced: boolean
  /** Its lease is over, by the clock of the store. */
  readonly isExpired: boolean
  /** It will never return, whatever is known of its process. */
  readonly isForgotten: boolean
  readonly process: ProcessIdentity
}

/** Registers a gateway. @param leaseMs undefined: it only ends holds, and is fenced from the start. */
export async function insertInstance(
  db: Database,
  { host, space, pid, start }: ProcessIdentity,
  leaseMs: number | undefined,
): Promise<string> {
  const id = randomBytes(ID_BYTES).toString('hex')
  const lease = leaseMs === undefined ? 'null' : `${NOW_MS} + ${leaseMs}`
  await db.query(
    `insert into instances (id, number, expires_at_ms, is_fenced, host, process_space, pid, process_start)
     values ($1, 0, ${lease}, $2, $3, $4, $5, $6)`,
    [id, leaseMs === undefined ? 1 : 0, host, space, pid, start],
  )
  return id
}

/** False if the instance is fenced. */
export async function renewLease(db: Database, id: string, leaseMs: number): Promise<boolean> {
  const { count } = await db.query(
    `update instances set expires_at_ms = ${NOW_MS} + ${leaseMs} where id = $1 and is_fenced = 0`,
    [id],
  )
  return count > 0
}

export async function selectInstances(db: Database): Promise<readonly StoredInstance[]> {
  const { rows } = await db.query(
    `select id, serial, is_fenced, coalesce(expires_at_ms <= ${NOW_MS}, false),
       coalesce(expires_at_ms = ${FORGOTTEN_AT_MS}, false), host, process_space, pid, process_start
     from instances order by serial`,
  )
  return rows.map(row => {
    const [id, serial, fenced, isExpired, isForgotten, host, space, pid, start] = row as [
      string,
      number,
      number,
      boolean,
      boolean,
      string,
      string,
      number,
      string,
    ]
    return {
      id,
      serial,
      isFenced: fenced === 1,
      isExpired,
      isForgotten,
      process: { host, space, pid, start },
    }
  })
}

/**
 * Takes the right to write holds from an instance; waits for those under way. Of several gateways one succeeds, which then
 * recovers it, unless that one ends as well.
 * @param isDead Its process has ended for certain; otherwise its lease must be over.
 */
export async function fence(db: Database, id: string, by: string, isDead: boolean): Promise<boolean> {
  const { count } = await db.query(
    `with locked as materialized (
      select id from instances where id = $1
        and (is_fenced = 1 or $3 = 1 or expires_at_ms <= ${NOW_MS})
        and (fenced_by is null or fenced_by = $2
          or not exists (select 1 from instances f where f.id = instances.fenced_by and f.is_fenced = 0))
      for update)
    update instances set is_fenced = 1, fenced_by = $2 from locked where instances.id = locked.id`,
    [id, by, isDead ? 1 : 0],
  )
  return count > 0
}

/** Deletes an instance whose holds have all ended and are in the sums. False if it has something left. */
export async function deleteInstance(db: Database, id: string): Promise<boolean> {
  assertInstance(id)
  await fold(db, id, undefined)
  // The second statement sees what was committed before the lock was given.
  const { count } = await db.query(`
    select 1 from instances where id = '${id}' for update;
    delete from instances i where id = '${id}'
      and not exists (select 1 from shares where instance = i.id)
      and not exists (select 1 from older_holds where instance = i.serial)
      and not exists (select 1 from holds where instance = i.serial and holds.id > i.folded_hold)
      and not exists (select 1 from ledger where instance = i.serial and ledger.id > i.folded_end)`)
  // A gateway that was killed reports no more.
  await db.query(
    `delete from endpoint_health where gateway_id = '${id}'; delete from gateways where id = '${id}'`,
  )
  return count > 0
}
