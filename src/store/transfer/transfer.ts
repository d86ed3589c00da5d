import { createHash, type Hash } from 'node:crypto'
import type Database from 'better-sqlite3'
import { CommandError } from '../../base/catalogue/command.ts'
import type { Clock } from '../../base/clock.ts'
import { openDatabase } from '../database.ts'
import { storeFault } from '../faults.ts'
import { waitForBacklog } from '../journal/backlog.ts'
import { takeAllLeases } from '../ledger/lease.ts'
import { openStore } from '../open.ts'
import { parsePostgresUrl } from '../postgres/address.ts'
import { type PostgresClient, PostgresConnections, WHOLE_STORE_MS } from '../postgres/connection.ts'
import type { Head } from '../types.ts'
import { isPostgresUrl, storePath } from '../url.ts'
import { deriveInPostgres, PostgresSide } from './postgres-side.ts'
import { deriveInSqlite, SqliteSide, shapesOf, withoutTriggers } from './sqlite-side.ts'
import type { Side, TableShape } from './tables.ts'

export interface TransferOptions {
  readonly clock: Clock
  /** The folder that a relative path starts from. */
  readonly folder: string
  readonly signal: AbortSignal
  readonly onProgress?: (table: string, rows: number) => void
}

export interface Transferred {
  readonly revision: number
  readonly rows: number
}

/** `states_from` as well. */
type WholeHead = Head & { readonly statesFrom: number }

const HEAD = 'select revision, key_version as "keyVersion", states_from as "statesFrom" from head'

/**
 * Copies a store to another engine, in one transaction, while no gateway serves either.
 *
 *     open holds, gateways? ──▶ target empty? ──▶ rows ──▶ both read again: same digests? ──▶ commit ──▶ ledger verified
 *
 * @throws {CommandError} usage unless one store is a file and the other one a PostgreSQL server; store_in_use,
 * already_exists if the target is not empty, backup_damaged if the copy differs, and store_…
 */
export async function transferStore(
  from: string,
  to: string,
  options: TransferOptions,
): Promise<Transferred> {
  if (isPostgresUrl(from) === isPostgresUrl(to)) {
    throw new CommandError(
      'usage',
      'One of both stores must be a file and the other one a PostgreSQL server.',
      {
        hint: '`gw backup` copies a file, and pg_dump a database of PostgreSQL.',
      },
    )
  }
  const { clock, folder } = options
  const source = await openStore(from, { mode: 'read', clock, folder })
  const target = await openStore(to, { mode: 'create', clock, folder })
  try {
    await assertComplete(source)
    const done = await (isPostgresUrl(to) ? toPostgres(from, to, options) : toSqlite(from, to, options))
    const { findings } = await target.accounting.verify()
    if (findings.length === 0) return done
    throw new CommandError('ledger_inconsistent', `The copy does not add up: ${findings.length} findings.`, {
      hint: 'Run `gw ledger verify` on both stores.',
    })
  } finally {
    await source.close()
    await target.close()
  }
}

async function assertComplete({ accounting }: Pick<Awaited<ReturnType<typeof openStore>>, 'accounting'>) {
  const held = (await accounting.wallets()).some(({ heldNano }) => heldNano !== 0n)
  const { openHolds } = await accounting.verify()
  if (held || openHolds > 0) {
    throw new CommandError('store_in_use', `${openHolds} calls have no end yet.`, {
      hint: 'Start a gateway on this store once, and end it with SIGTERM.',
    })
  }
  if ((await accounting.archives()).length > 0)
    throw new CommandError(
      'usage',
      'The ledger of this store has archives, and a copy of it would not: entries get new ids.',
    )
}

function toPostgres(from: string, to: string, options: TransferOptions): Promise<Transferred> {
  return withFile(from, 'read', options, raw =>
    withServer(to, async client => {
      raw.exec('begin')
      const shapes = shapesOf(raw)
      await client.query('alter table revision_changes disable trigger user')
      const head = raw.prepare<[], WholeHead>(HEAD).get() as WholeHead
      const rows = await copyRows(new SqliteSide(raw), new PostgresSide(client), shapes, options)
      await client.query('update head set revision = $1, key_version = $2, states_from = $3', [
        head.revision,
        head.keyVersion,
        head.statesFrom,
      ])
      await deriveInPostgres(client)
      await client.query('alter table revision_changes enable trigger user')
      return { revision: head.revision, rows }
    }),
  )
}

function toSqlite(from: string, to: string, options: TransferOptions): Promise<Transferred> {
  return withFile(to, 'write', options, raw =>
    withServer(from, async client => {
      raw.exec('begin immediate')
      try {
        const restore = withoutTriggers(raw)
        const { rows: heads } = await client.query<WholeHead>(HEAD)
        const [head] = heads as [WholeHead]
        const rows = await copyRows(new PostgresSide(client), new SqliteSide(raw), shapesOf(raw), options)
        raw
          .prepare('update head set revision = ?, key_version = ?, states_from = ?')
          .run(head.revision, head.keyVersion, head.statesFrom)
        deriveInSqlite(raw)
        restore()
        raw.exec('commit')
        return { revision: head.revision, rows }
      } catch (error) {
        if (raw.inTransaction) raw.exec('rollback')
        throw error
      }
    }),
  )
}

/** @returns how many rows. */
async function copyRows(
  source: Side,
  target: Side,
  shapes: readonly TableShape[],
  { signal, onProgress }: TransferOptions,
): Promise<number> {
  for (const shape of shapes) {
    for await (const page of target.read(shape)) {
      if (page.length === 0) continue
      throw new CommandError('already_exists', `The store to copy to is not empty: it has ${shape.name}.`, {
        hint: 'Name a new file, or an empty database; nothing was changed.',
      })
    }
  }
  let all = 0
  for (const shape of shapes) {
    const read = createHash('sha256')
    let rows = 0
    for await (const page of source.read(shape)) {
      signal.throwIfAborted()
      if (page.length === 0) continue
      await target.insert(shape, page)
      add(read, page)
      rows += page.length
      onProgress?.(shape.name, all + rows)
    }
    const written = createHash('sha256')
    for await (const page of target.read(shape)) add(written, page)
    if (read.digest('hex') !== written.digest('hex'))
      throw new CommandError('backup_damaged', `The copy of ${shape.name} differs; nothing was copied.`)
    all += rows
  }
  return all
}

function add(hash: Hash, rows: readonly (readonly unknown[])[]): void {
  for (const row of rows) {
    const values = row.map(value =>
      value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value,
    )
    hash.update(`${JSON.stringify(values)}\n`)
  }
}

/** Runs `work` on the file while no gateway serves it. */
async function withFile<T>(
  url: string,
  mode: 'read' | 'write',
  { folder }: TransferOptions,
  work: (raw: Database.Database) => Promise<T>,
): Promise<T> {
  const path = storePath(url, folder)
  const lease = takeAllLeases(path)
  try {
    const missing = await waitForBacklog(path, 0)
    if (missing > 0) {
      throw new CommandError('store_in_use', `${missing} rows of the journal are not in the store yet.`, {
        hint: 'Start a gateway on this store once, and end it with SIGTERM.',
      })
    }
    const { raw } = await openDatabase(path, mode)
    try {
      return await work(raw)
    } finally {
      raw.close()
    }
  } catch (error) {
    throw storeFault(error, path)
  } finally {
    lease.release()
  }
}

/** Runs `work` in one transaction while no gateway serves the database. */
async function withServer<T>(url: string, work: (client: PostgresClient) => Promise<T>): Promise<T> {
  const connections = await PostgresConnections.open(parsePostgresUrl(url, '--store'))
  try {
    return await connections.use(
      client =>
        client.transaction('start transaction isolation level repeatable read', async () => {
          // A gateway that starts now waits until the copy is there.
          await client.query('lock table instances in share mode')
          const { rows } = await client.query('select from instances where is_fenced = 0 limit 1')
          if (rows.length === 0) return work(client)
          throw new CommandError('store_in_use', `Gateways serve ${connections.name}.`)
        }),
      WHOLE_STORE_MS,
    )
  } finally {
    await connections.end()
  }
}
