import { statSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import type Database from 'better-sqlite3'
import type { Clock } from '../../../base/clock.ts'
import type { ArchivedEntry } from '../../../schema/archive.ts'
import { codeOf } from '../columns.ts'
import type { Archive, ArchiveRequest, ArchiveWatch, Archiving } from '../types.ts'
import { PlaceSums } from '../verify/place-sums.ts'
import { type ArchiveToVerify, verifyLedger } from '../verify/verify.ts'
import { digestOf, writeArchive } from './archive-file.ts'
import { entriesOf, selectArchived, selectNames } from './archived-entries.ts'
import { deleteArchived, insertArchive, recordedArchives, selectArchives } from './archives.ts'
import { archivedMeanwhile, assertConsistent, faultOf, publish, withPartial } from './publish.ts'

/** The store's transactions without Kysely, for very many rows. */
export interface BarePorts {
  /** All reads of `work` see one moment. */
  readonly readBare: <T>(work: (raw: Database.Database) => Promise<T>) => Promise<T>
  /** Holds the write lock from the start; rolls back if `work` throws. */
  readonly writeBare: <T>(work: (raw: Database.Database) => T) => Promise<T>
  readonly clock: Clock
}

/** The entries of the next archive. */
interface Range {
  readonly firstId: number
  readonly lastId: number
  /** How many of them are ends of calls. */
  readonly entries: number
  /** The newest entry is an end of that time as well. */
  readonly isNewestLeft: boolean
}

/** See {@link Accounting.archive}. */
export async function archiveLedger(
  { readBare, writeBare, clock }: BarePorts,
  request: ArchiveRequest,
  watch: ArchiveWatch = {},
): Promise<Archiving> {
  const { path, beforeMs } = request
  const remove = (ofEntries?: number) => deleteInSteps({ writeBare, clock }, watch, ofEntries)
  const left = await remove()
  const { isNewestLeft, ...range } = await readBare(async raw => selectRange(raw, beforeMs))
  const newest = isNewestLeft && { isNewestLeft }
  if (range.entries === 0) return { archive: undefined, deleted: left, ...newest }
  return withPartial(path, async partial => {
    const { archive, sums } = await readBare(async raw => {
      const sums = await write(raw, partial, range, request, watch).catch(faultOf(path))
      const archive: Omit<Archive, 'id'> = {
        ...range,
        beforeMs,
        file: path,
        bytes: statSync(partial).size,
        sha256: await digestOf(partial),
        archivedAtMs: clock.nowMs(),
      }
      await verify(raw, clock.nowMs(), { archive, sums, path: partial }, watch)
      return { archive, sums }
    })
    const recorded = await writeBare(raw => {
      if (firstIdOf(raw) !== archive.firstId) throw archivedMeanwhile()
      const inserted = insertArchive(raw, archive, sums)
      // A commit that failed can still be found after a power loss: the file stays in any case.
      publish(partial, path)
      return inserted
    })
    return { archive: recorded, deleted: left + (await remove(range.entries)), ...newest }
  })
}

/** The first id that is in no archive. */
function firstIdOf(raw: Database.Database): number {
  return 1 + (selectArchives(raw).at(-1)?.lastId ?? 0)
}

function selectRange(raw: Database.Database, beforeMs: number): Range {
  const firstId = firstIdOf(raw)
  const next = raw
    .prepare<[number, number], number>(
      `select id from ledger where id >= ? and at_ms >= ? and kind <= ${codeOf('release')} order by id limit 1`,
    )
    .pluck()
    .get(firstId, beforeMs)
  const newest = raw.prepare<[], number | null>('select max(id) from ledger').pluck().get() ?? 0
  // The id of the newest entry must not be given out again.
  const lastId = (next ?? newest) - 1
  const entries = raw
    .prepare<[number, number], number>(
      `select count(*) from ledger where id between ? and ? and kind <= ${codeOf('release')}`,
    )
    .pluck()
    .get(firstId, lastId)
  return { firstId, lastId, entries: entries ?? 0, isNewestLeft: next === undefined && newest >= firstId }
}

/** Returns the sums of the entries by place. */
async function write(
  raw: Database.Database,
  path: string,
  { firstId, lastId, entries }: Omit<Range, 'isNewestLeft'>,
  { beforeMs, currency, names }: ArchiveRequest,
  { onProgress, signal }: ArchiveWatch,
): Promise<PlaceSums> {
  const ids = new Map([...selectNames(raw)].map(([id, name]) => [name, id]))
  const sums = new PlaceSums()
  let written = 0
  function* pages(): Generator<readonly ArchivedEntry[], void> {
    for (const page of selectArchived(raw, firstId, lastId)) {
      signal?.throwIfAborted()
      sums.addArchived(page, entriesOf(page, ids))
      yield page
      written += page.length
      onProgress?.('write', written, entries)
    }
  }
  const prices = raw
    .prepare<[], { id: number; price: string }>('select id, price from ledger_prices')
    .all()
    .map(({ id, price }) => [id, JSON.parse(price)] as const)
  const header = {
    beforeMs,
    first_id: firstId,
    last_id: lastId,
    currency,
    ...(names && { names }),
    prices: Object.fromEntries(prices),
  }
  await writeArchive(path, header, pages())
  return sums
}

/** Verifies the ledger as it will be: with the file in place of the entries. */
async function verify(
  raw: Database.Database,
  nowMs: number,
  fresh: ArchiveToVerify,
  { onProgress, signal }: ArchiveWatch,
): Promise<void> {
  const { findings } = await verifyLedger(raw, nowMs, [...recordedArchives(raw), fresh], {
    onProgress: (entries, ofEntries) => onProgress?.('verify', entries, ofEntries),
    ...(signal && { signal }),
  })
  assertConsistent(findings)
}

async function deleteInSteps(
  { writeBare, clock }: Pick<BarePorts, 'writeBare' | 'clock'>,
  { onProgress, signal }: ArchiveWatch,
  ofEntries: number | undefined,
): Promise<number> {
  let deleted = 0
  for (;;) {
    const startMs = clock.monotonicMs()
    const changes = await writeBare(deleteArchived)
    deleted += changes
    if (changes === 0) return deleted
    onProgress?.('delete', deleted, ofEntries ?? deleted)
    signal?.throwIfAborted()
    // SQLite does not give the lock in turn: a gateway gets as much time as this takes.
    await pause(clock.monotonicMs() - startMs)
  }
}
