import { sql } from 'kysely'
import type { SharedLimit } from '../../../schema/shares.ts'
import type { StorePorts } from '../../engine.ts'
import { SqlAccounting } from '../../ledger/sql-accounting.ts'
import type {
  Archive,
  ArchiveRequest,
  ArchiveWatch,
  Archiving,
  NodeUse,
  NodeUseQuery,
  Verification,
  VerifyWatch,
} from '../../ledger/types.ts'
import { archivePostgres } from './archive.ts'
import { selectArchives } from './archives.ts'
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
    return this.#ports.readBare(raw => verifyPostgres(raw, this.#ports.clock.nowMs(), watch), 'whole_ledger')
  }

  archive(request: ArchiveRequest, watch?: ArchiveWatch): Promise<Archiving> {
    return archivePostgres(this.#ports, request, watch)
  }

  archives(): Promise<readonly Archive[]> {
    return this.#ports.readBare(raw => selectArchives(raw))
  }
}
