import type { SharedLimit } from '../../schema/shares.ts'
import { waitForBacklog } from '../journal/backlog.ts'
import { sharedLimits } from '../shares/instances.ts'
import { archiveLedger, type BarePorts } from './archive/archive-ledger.ts'
import { archivesWithFiles, selectArchives } from './archive/archives.ts'
import { SQLITE_LEDGER } from './dialect.ts'
import { selectNodeUse } from './recent-use.ts'
import { SqlAccounting, type SqlPorts } from './sql-accounting.ts'
import type {
  Archive,
  ArchiveRequest,
  ArchiveWatch,
  Archiving,
  NodeUse,
  NodeUseQuery,
  Verification,
  VerifyWatch,
} from './types.ts'
import { verifyLedger } from './verify/verify.ts'

/** The store's read and write transactions: `read` and `write` as `readBare` and `writeBare`, with Kysely. */
export interface AccountingPorts extends BarePorts, SqlPorts {}

/** The ledger in SQLite, in any process. */
export class SqliteAccounting extends SqlAccounting {
  readonly #ports: AccountingPorts

  constructor(ports: AccountingPorts) {
    super(ports, SQLITE_LEDGER)
    this.#ports = ports
  }

  nodeUse(query: NodeUseQuery): Promise<readonly NodeUse[]> {
    return this.#ports.read(db => selectNodeUse(db, query))
  }

  sharedLimits(owners: readonly string[]): Promise<readonly SharedLimit[]> {
    return this.#ports.readBare(async raw => sharedLimits(raw, owners, this.#ports.clock.nowMs()))
  }

  async verify(watch?: VerifyWatch): Promise<Verification> {
    const path = await this.#ports.readBare(async raw => (raw.memory ? undefined : raw.name))
    const unfoldedRows = path === undefined ? 0 : await waitForBacklog(path)
    const verified = await this.#ports.readBare(async raw =>
      verifyLedger(raw, this.#ports.clock.nowMs(), await archivesWithFiles(raw, watch?.files ?? []), watch),
    )
    return { ...verified, unfoldedRows }
  }

  archive(request: ArchiveRequest, watch?: ArchiveWatch): Promise<Archiving> {
    return archiveLedger(this.#ports, request, watch)
  }

  archives(): Promise<readonly Archive[]> {
    return this.#ports.readBare(async raw => selectArchives(raw))
  }
}
