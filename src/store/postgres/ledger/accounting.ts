import { sql } from 'kysely'
import { CommandError } from '../../../base/catalogue/command.ts'
import type { SharedLimit } from '../../../schema/shares.ts'
import type { StorePorts } from '../../engine.ts'
import { SqlAccounting } from '../../ledger/sql-accounting.ts'
import type {
  Archive,
  Archiving,
  NodeUse,
  NodeUseQuery,
  Verification,
  VerifyWatch,
} from '../../ledger/types.ts'
import { POSTGRES_LEDGER } from './dialect.ts'
import { sharedLimits } from './shared-limits.ts'
import { verifyPostgres } from './verify.ts'

/** The ledger in PostgreSQL, in any process. */
export class PostgresAccounting extends SqlAccounting {
  readonly #ports: StorePorts

  constructor(ports: StorePorts) {
    super(ports, POSTGRES_LEDGER)
    this.#ports = ports
  }

  nodeUse({ nodes, sinceMs }: NodeUseQuery): Promise<readonly NodeUse[]> {
    return this.#ports.read(async db => {
      const { rows } = await sql<NodeUse>`
        select nodes.name as node, endpoints.name as endpoint, count(*)::integer as requests
        from call_logs
          join ledger_names nodes on nodes.id = node_id
          join ledger_names endpoints on endpoints.id = endpoint_id
        where at_ms >= ${sinceMs} and nodes.name = any(${nodes})
        group by nodes.name, endpoints.name`.execute(db)
      return rows
    })
  }

  sharedLimits(owners: readonly string[]): Promise<readonly SharedLimit[]> {
    return this.#ports.readBare(raw => sharedLimits(raw, owners))
  }

  verify(watch?: VerifyWatch): Promise<Verification> {
    if (watch?.files?.length) return Promise.reject(noArchives())
    return this.#ports.readBare(raw => verifyPostgres(raw, this.#ports.clock.nowMs(), watch))
  }

  archive(): Promise<Archiving> {
    return Promise.reject(noArchives())
  }

  async archives(): Promise<readonly Archive[]> {
    return []
  }
}

function noArchives(): CommandError {
  return new CommandError('usage', 'The ledger of a store in PostgreSQL has no archives.', {
    hint: 'Its tables have a partition for each month: move old ones to a cheaper tablespace.',
  })
}
