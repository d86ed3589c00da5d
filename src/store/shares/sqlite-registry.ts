import type Database from 'better-sqlite3'
import type { StorePorts } from '../engine.ts'
import { DELETE_GATEWAY } from '../gateways.ts'
import { tryLease } from '../ledger/lease.ts'
import type { Forgotten, InstanceRegistry, RegisteredInstance } from './registry.ts'

const SELECT = `
  select id, lane, is_fenced, is_whole, (select count(*) from shares where instance = instances.id) as shares,
    (select count(*) from open_holds where open_holds.lane = instances.lane) as open_calls
  from instances`

interface Row {
  readonly id: string
  readonly lane: number
  readonly is_fenced: number
  readonly is_whole: number
  readonly shares: number
  readonly open_calls: number
}

/** The gateways of a file. */
export class SqliteRegistry implements InstanceRegistry {
  readonly #ports: StorePorts<Database.Database>
  readonly #path: string

  constructor(ports: StorePorts<Database.Database>, path: string) {
    this.#ports = ports
    this.#path = path
  }

  all(): Promise<readonly RegisteredInstance[]> {
    return this.#ports.readBare(async raw => {
      const rows = raw.prepare<[], Row>(`${SELECT} order by lane`).all()
      return rows.map(({ id, lane, is_fenced, is_whole, shares, open_calls }) => ({
        id,
        lane,
        isFenced: is_fenced === 1,
        shares: is_whole === 1 ? undefined : shares,
        openCalls: open_calls,
        isLeaseOver: false,
      }))
    })
  }

  /** Who holds the lease of a lane writes its journal: a gateway whose process has it cannot be fenced. */
  forget(id: string): Promise<Forgotten> {
    return this.#ports.writeBare((raw): Forgotten => {
      const row = raw.prepare<[string], Row>(`${SELECT} where id = ?`).get(id)
      if (row) {
        const lease = tryLease(this.#path, row.lane)
        if (!lease) return { is: 'alive', canForce: false }
        lease.release()
        raw.prepare('update instances set is_fenced = 1 where id = ?').run(id)
      }
      let count = 0
      for (const statement of DELETE_GATEWAY) count += raw.prepare(statement).run(id).changes
      if (!row && count === 0) return { is: 'unknown' }
      return { is: 'forgotten', shares: row?.shares ?? 0, openCalls: row?.open_calls ?? 0 }
    })
  }
}
