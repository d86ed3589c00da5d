import { type PlainSql, prepare, type StorePorts } from '../../engine.ts'
import { DELETE_GATEWAY } from '../../gateways.ts'
import type { Forgotten, InstanceRegistry, RegisteredInstance } from '../../shares/registry.ts'
import { NOW_MS } from './clock-of-store.ts'
import { FORGOTTEN_AT_MS } from './instance-rows.ts'
import { hasEnded, ownIdentity } from './process-identity.ts'

const SELECT = `
  select id, serial, is_fenced, expires_at_ms, coalesce(expires_at_ms <= ${NOW_MS}, false) as is_over, host, process_space,
    pid, process_start, (select count(*) from shares where instance = instances.id) as shares,
    (select count(*) from open_holds h where h.instance = instances.serial) as open_calls
  from instances`

interface Row {
  readonly id: string
  readonly serial: number
  readonly is_fenced: number
  readonly expires_at_ms: number | null
  readonly is_over: boolean
  readonly host: string
  readonly process_space: string
  readonly pid: number
  readonly process_start: string
  readonly shares: number
  readonly open_calls: number
}

/** The gateways of a database. */
export class PostgresRegistry implements InstanceRegistry {
  readonly #ports: StorePorts

  constructor(ports: StorePorts) {
    this.#ports = ports
  }

  async all(): Promise<readonly RegisteredInstance[]> {
    const offMs = await this.#ports.clockOffMs()
    return this.#ports.readBare(async raw => {
      const rows = await prepare<[], Row>(raw, `${SELECT} order by serial`).all()
      return rows.map(({ id, serial, is_fenced, expires_at_ms, is_over, shares, open_calls }) => ({
        id,
        lane: serial,
        isFenced: is_fenced === 1,
        shares,
        openCalls: open_calls,
        isLeaseOver: is_over,
        ...(expires_at_ms !== null &&
          expires_at_ms !== FORGOTTEN_AT_MS && { leaseUntilMs: expires_at_ms - offMs }),
      }))
    })
  }

  forget(id: string, isForced: boolean): Promise<Forgotten> {
    return this.#ports.writeBare(async (raw): Promise<Forgotten> => {
      // Waits for holds under way; what is read afterwards is final.
      await prepare<[string]>(raw, 'select 1 from instances where id = ? for update').all(id)
      const row = await prepare<[string], Row>(raw, `${SELECT} where id = ?`).get(id)
      if (row && !isForced && mayBeAlive(row)) return { is: 'alive', canForce: true }
      if (row) await markForgotten(raw, id)
      let count = 0
      for (const statement of DELETE_GATEWAY)
        count += (await prepare<[string]>(raw, statement).run(id)).changes
      if (!row && count === 0) return { is: 'unknown' }
      return { is: 'forgotten', shares: row?.shares ?? 0, openCalls: row?.open_calls ?? 0 }
    })
  }
}

function mayBeAlive(row: Row): boolean {
  const { is_fenced, is_over, host, process_space: space, pid, process_start: start } = row
  return is_fenced === 0 && !is_over && !hasEnded({ host, space, pid, start }, ownIdentity())
}

async function markForgotten(raw: PlainSql, id: string): Promise<void> {
  const sql = `update instances set is_fenced = 1, expires_at_ms = ${FORGOTTEN_AT_MS} where id = ?`
  await prepare<[string]>(raw, sql).run(id)
}
