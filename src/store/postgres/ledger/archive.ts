import { statSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { CommandError } from '../../../base/catalogue/command.ts'
import type { ArchivedEntry } from '../../../schema/archive.ts'
import { type PlainSql, prepare, type StorePorts } from '../../engine.ts'
import { digestOf, readArchive, writeArchive } from '../../ledger/archive/archive-file.ts'
import { type EndRow, entriesOf, type Names, toArchived } from '../../ledger/archive/archived-entries.ts'
import {
  archivedMeanwhile,
  assertConsistent,
  faultOf,
  publish,
  withPartial,
} from '../../ledger/archive/publish.ts'
import { codeOf, USAGE_COLUMNS } from '../../ledger/columns.ts'
import type { Archive, ArchiveRequest, ArchiveWatch, Archiving } from '../../ledger/types.ts'
import { PlaceSums } from '../../ledger/verify/place-sums.ts'
import { codeOf as faultCodeOf } from '../faults.ts'
import { insertArchive } from './archives.ts'
import { NOW_MS } from './clock-of-store.ts'
import { LOCK_LEDGER, replacePartitions } from './partitions.ts'
import { requestIdOf } from './request-id.ts'
import { verifyPostgres } from './verify.ts'

const PAGE_ROWS = 2_000
/** Clocks of gateways may be off by hours: no call of a month is opened when it has been over for so long. */
const CLOSED_AFTER_MS = 86_400_000
const LOCK_MS = 200
const MAX_ATTEMPTS = 100
const LOCK_NOT_AVAILABLE = '55P03'

/** Ends of calls that were opened, and have ended, before a time. */
const ARCHIVED = `ledger l where kind <= ${codeOf('release')} and opened_at_ms < ? and at_ms < ?`

interface Range {
  /** The start of a month. */
  readonly beforeMs: number
  readonly firstId: number
  readonly lastId: number
  readonly entries: number
}

interface Counted {
  readonly first: number | null
  readonly last: number | null
  readonly entries: number
}

/**
 * See `Accounting.archive`. The ledger has a table for each month of holds: the archive takes what has ended of closed months, and their
 * tables are replaced by those with the rest, in the transaction that records the archive. So nothing is left half done.
 */
export async function archivePostgres(
  ports: StorePorts,
  request: ArchiveRequest,
  watch: ArchiveWatch = {},
): Promise<Archiving> {
  const { path } = request
  const { clock } = ports
  const { entries } = await ports.readBare(raw => selectRange(raw, request.beforeMs), 'whole_ledger')
  if (entries === 0) return { archive: undefined, deleted: 0 }
  return withPartial(path, async partial => {
    const { archive, sums } = await ports.readBare(async raw => {
      const range = await selectRange(raw, request.beforeMs)
      const names = await selectNames(raw)
      const sums = await write(raw, partial, range, names, request, watch).catch(faultOf(path))
      await compare(raw, partial, range, names, watch)
      assertConsistent((await verifyPostgres(raw, clock.nowMs())).findings)
      const archive: Omit<Archive, 'id'> = {
        ...range,
        file: path,
        bytes: statSync(partial).size,
        sha256: await digestOf(partial),
        archivedAtMs: clock.nowMs(),
      }
      return { archive, sums }
    }, 'whole_ledger')
    watch.signal?.throwIfAborted()
    const recorded = await record(ports, archive, sums, () => publish(partial, path))
    watch.onProgress?.('delete', archive.entries, archive.entries)
    return { archive: recorded, deleted: archive.entries }
  })
}

async function selectRange(raw: PlainSql, wantedMs: number): Promise<Range> {
  await prepare(raw, LOCK_LEDGER).run()
  const row = await prepare<[], { now: number; open: number | null }>(
    raw,
    `select ${NOW_MS} as now, (select min(opened_at_ms) from open_holds) as open`,
  ).get()
  // The end of an open call belongs to the month of its hold.
  const { now = 0, open } = row ?? {}
  const beforeMs = monthOf(Math.min(wantedMs, now - CLOSED_AFTER_MS, open ?? wantedMs))
  const unfolded = await prepare<[number, number], object>(
    raw,
    `select 1 from ${ARCHIVED} and id > (select folded_end from instances i where i.serial = l.instance) limit 1`,
  ).get(beforeMs, beforeMs)
  if (unfolded)
    throw new CommandError('store_locked', 'Calls of that time are being added up: try again in a second.')
  const { first, last, entries } = await count(raw, beforeMs)
  return { beforeMs, firstId: first ?? 0, lastId: last ?? 0, entries }
}

async function count(raw: PlainSql, beforeMs: number): Promise<Counted> {
  const counted = await prepare<[number, number], Counted>(
    raw,
    `select min(id) as first, max(id) as last, count(*) as entries from ${ARCHIVED}`,
  ).get(beforeMs, beforeMs)
  return counted ?? { first: null, last: null, entries: 0 }
}

function monthOf(atMs: number): number {
  const at = new Date(atMs)
  return Date.UTC(at.getUTCFullYear(), at.getUTCMonth())
}

async function selectNames(raw: PlainSql): Promise<Names> {
  const rows = await prepare<[], { id: number; name: string }>(raw, 'select id, name from ledger_names').all()
  return new Map(rows.map(({ id, name }) => [id, name]))
}

/** Returns the sums of the entries by place. */
async function write(
  raw: PlainSql,
  partial: string,
  range: Range,
  names: Names,
  { currency, names: shown }: ArchiveRequest,
  { onProgress, signal }: ArchiveWatch,
): Promise<PlaceSums> {
  const { beforeMs, firstId, lastId, entries } = range
  const ids = new Map([...names].map(([id, name]) => [name, id]))
  const sums = new PlaceSums()
  let written = 0
  async function* pages(): AsyncGenerator<readonly ArchivedEntry[], void> {
    for await (const page of archivedPages(raw, 'written', beforeMs, names)) {
      signal?.throwIfAborted()
      sums.addArchived(page, entriesOf(page, ids))
      yield page
      written += page.length
      onProgress?.('write', written, entries)
    }
  }
  const prices = await prepare<[], { id: number; price: string }>(
    raw,
    'select id, price from ledger_prices',
  ).all()
  const header = {
    beforeMs,
    first_id: firstId,
    last_id: lastId,
    currency,
    ...(shown && { names: shown }),
    prices: Object.fromEntries(prices.map(({ id, price }) => [id, JSON.parse(price)])),
  }
  await writeArchive(partial, header, pages())
  return sums
}

/** Reads the file again, and the rows: both have the same. */
async function compare(
  raw: PlainSql,
  partial: string,
  { beforeMs, entries }: Range,
  names: Names,
  { onProgress, signal }: ArchiveWatch,
): Promise<void> {
  const rows = oneByOne(archivedPages(raw, 'compared', beforeMs, names))
  let compared = 0
  for await (const page of readArchive(partial)) {
    for (const entry of page) {
      const row = await rows.next()
      if (row.done || JSON.stringify(row.value) !== JSON.stringify(entry))
        throw new CommandError('archive_damaged', `${partial} differs from the ledger at entry ${entry.id}.`)
    }
    compared += page.length
    onProgress?.('verify', compared, entries)
    signal?.throwIfAborted()
  }
  if (!(await rows.next()).done)
    throw new CommandError('archive_damaged', `${partial} has ${compared} entries instead of ${entries}.`)
}

async function* oneByOne<T>(pages: AsyncIterable<readonly T[]>): AsyncGenerator<T, void> {
  for await (const page of pages) yield* page
}

/** In the order of time, in which a verification reads them. @param cursor its name in the transaction. */
async function* archivedPages(
  raw: PlainSql,
  cursor: string,
  beforeMs: number,
  names: Names,
): AsyncGenerator<readonly ArchivedEntry[], void> {
  await prepare(
    raw,
    `declare ${cursor} no scroll cursor for
     select id, kind, at_ms, ${requestIdOf('request')} as request_id, attempt, key_id, tenant_id, publication_id,
       endpoint_id, amount_nano::text as amount_nano, ${USAGE_COLUMNS.join(', ')}, flags, price_id, reason_id, open_ms,
       held_nano::text as held_nano, held_tokens
     from ${ARCHIVED.replaceAll('?', String(beforeMs))} order by at_ms, id`,
  ).run()
  const page = prepare<[], EndRow>(raw, `fetch ${PAGE_ROWS} from ${cursor}`)
  for (;;) {
    const rows = await page.all()
    if (rows.length > 0) yield rows.map(row => toArchived(row, names))
    if (rows.length < PAGE_ROWS) break
  }
  await prepare(raw, `close ${cursor}`).run()
}

/** In one transaction: the archive is recorded, the file gets its name, and the entries are gone. */
async function record(
  ports: StorePorts,
  archive: Omit<Archive, 'id'>,
  sums: PlaceSums,
  publishFile: () => void,
): Promise<Archive> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ports.writeBare(async raw => {
        await prepare(
          raw,
          `select set_config('lock_timeout', '${LOCK_MS}', true), set_config('synchronous_commit', 'on', true)`,
        ).get()
        // One archive at a time: another one takes entries, or waits.
        await prepare(raw, 'lock table archives in share row exclusive mode').run()
        if ((await count(raw, archive.beforeMs)).entries === 0) throw archivedMeanwhile()
        const recorded = await insertArchive(raw, archive, sums)
        // Calls wait from here to the commit: as long as a link to a file takes, and a copy of the rest of these months.
        await prepare(raw, 'lock table ledger in access exclusive mode').run()
        const { beforeMs, entries } = archive
        if ((await count(raw, beforeMs)).entries !== entries)
          throw new CommandError('store_locked', 'Calls of that time were written meanwhile: try again.')
        await replacePartitions(raw, beforeMs, `kind > ${codeOf('release')} or at_ms >= ${beforeMs}`)
        // If the commit fails, the file stays: its entries are in the ledger as well.
        publishFile()
        return recorded
      }, 'whole_ledger')
    } catch (error) {
      // Reports read the table: the next attempt waits behind others.
      if (attempt === MAX_ATTEMPTS || !isLockTimeout(error)) throw error
      await pause(LOCK_MS)
    }
  }
}

function isLockTimeout(error: unknown): boolean {
  const { cause } = error as { readonly cause?: unknown }
  return faultCodeOf(error) === LOCK_NOT_AVAILABLE || faultCodeOf(cause) === LOCK_NOT_AVAILABLE
}
