import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { gunzipSync, gzipSync } from 'node:zlib'
import { describe, expect, onTestFinished, test } from 'vitest'
import { archivedEntry, archiveEnd, archiveHeader } from '../../../src/schema/archive.ts'
import type { Settlement } from '../../../src/schema/ledger.ts'
import { priceText } from '../../../src/schema/price.ts'
import type { Row } from '../../../src/store/ledger/messages.ts'
import { openStore } from '../../../src/store/open.ts'
import { lockWaiters, storeDatabase } from '../../support/postgres.ts'
import { postgresWriter } from '../../support/postgres-writer.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { testClock } from '../../support/test-clock.ts'
import { hold, release, settle } from '../ledger/rows.ts'

const JULY = Date.UTC(2026, 6, 1)
const AUGUST = Date.UTC(2026, 7, 1)
const SEPTEMBER = Date.UTC(2026, 8, 1)
const HOUR_MS = 3_600_000

/** A call of `app` for `acme`, or with other names, that ended at this time. */
function call(
  id: string,
  endedAtMs: number,
  more: Partial<Settlement> & { readonly openMs?: number } = {},
): Row[] {
  const { key = 'app', publication = 'gpt', openMs = 800, ...rest } = more
  const tenant = 'tenant' in more ? more.tenant : 'acme'
  const openedAtMs = endedAtMs - openMs
  return [
    ['hold', hold(id, { key, publication, tenant, openedAtMs, deadlineMs: openedAtMs + HOUR_MS })],
    ['end', settle(id, { ...rest, key, publication, tenant, endedAtMs })],
  ]
}

/** July with a credit, two places, a released call and a platform key; a call that ends in August; August; one that is open. */
async function setUp() {
  const dir = tempDir(onTestFinished)
  const database = await storeDatabase(onTestFinished)
  const clock = testClock(SEPTEMBER + HOUR_MS)
  const writer = await postgresWriter(database.url, () => clock.nowMs())
  onTestFinished(() => writer.close())
  const store = await openStore(database.url, { mode: 'write', clock })
  onTestFinished(() => store.close())
  const { accounting } = store
  const write = async (...rows: Row[]) => {
    expect(await writer.write(rows)).toEqual([])
    await writer.fold()
  }
  await database.execute(`insert into wallets (tenant, balance_units, balance_nano) values ('acme', 0, 0)`)
  await database.execute(`
    insert into revisions (id, base, origin, created_at_ms, counts) values (1, 0, 'cli', 0, '{}');
    insert into resources (kind, name, spec, owner, created_revision, updated_revision, created_at_ms)
    values ('tenant', 'acme', '{}', 'cli', 1, 1, 0)`)
  const credit = (reference: string) => accounting.credit({ tenant: 'acme', amountNano: 10_000n, reference })
  await write(...call('req_0123456789abcdef01234567', JULY + HOUR_MS))
  clock.advance(JULY + HOUR_MS - clock.nowMs())
  await credit('inv-1')
  clock.advance(SEPTEMBER + HOUR_MS - clock.nowMs())
  await credit('inv-2')
  await write(
    ...call('b', JULY + 2 * HOUR_MS, { flags: ['estimated', 'partial'], publication: 'claude' }),
    ['hold', hold('c', { openedAtMs: JULY + 3 * HOUR_MS - 5, deadlineMs: JULY + 4 * HOUR_MS })],
    ['end', release('c', { endedAtMs: JULY + 3 * HOUR_MS })],
    ...call('d', AUGUST - 1, { key: 'job', tenant: undefined }),
    ...call('over', AUGUST + 60_000, { openMs: 120_000 }),
    ...call('e', AUGUST + HOUR_MS, { publication: 'claude' }),
    ...call('f', SEPTEMBER + HOUR_MS),
  )
  const archive = (beforeMs: number, name: string) =>
    accounting.archive({ path: dir.at(name), beforeMs, currency: 'EUR' })
  return {
    dir,
    database,
    write,
    writer,
    accounting,
    archive,
    requests: async () =>
      (
        await database.query<{ request: string }>(
          `select case when kind > 1 then 'adjustment' when length(request) = 12 then 'id'
             else convert_from(rtrim(request, '\\x00'::bytea), 'UTF8') end as request from ledger order by at_ms, id`,
        )
      ).map(({ request }) => request),
    findings: async (...files: string[]) =>
      (await accounting.verify({ files: files.map(name => dir.at(name)) })).findings.map(
        one => `${one.table} ${one.row}: ${one.problem}`,
      ),
  }
}

function linesOf(path: string): Record<string, unknown>[] {
  return gunzipSync(readFileSync(path))
    .toString()
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as Record<string, unknown>)
}

test('what was opened and has ended before the month goes to the file, and all else stays', async () => {
  const { dir, accounting, archive, requests, findings } = await setUp()
  expect(await findings()).toEqual([])
  const before = await accounting.wallet('acme')
  const usage = () => accounting.usage({ by: 'model', sinceMs: JULY, untilMs: SEPTEMBER })
  const reported = await usage()
  const { archive: written, deleted } = await archive(AUGUST, 'july.gz')
  expect(written).toMatchObject({ id: 1, entries: 4, beforeMs: AUGUST, file: dir.at('july.gz') })
  expect(deleted).toBe(4)
  expect(await requests()).toEqual(['adjustment', 'over', 'e', 'adjustment', 'f'])
  expect(await accounting.archives()).toEqual([written])
  expect(await accounting.wallet('acme')).toEqual(before)
  expect(await usage()).toEqual(reported)
  expect(await findings()).toEqual([])
  expect(await findings('july.gz')).toEqual([])
  expect(await accounting.verify()).toMatchObject({ entries: 5, archived: 4 })
})

test('of two archives at once one is written, and the other leaves no file', async () => {
  const { dir, database, archive, accounting, findings } = await setUp()
  await database.execute('begin; lock table archives in share row exclusive mode')
  const both = Promise.allSettled([archive(AUGUST, 'july.gz'), archive(AUGUST, 'too.gz')])
  await lockWaiters(database, 2)
  await database.execute('commit')
  const results = await both
  const rejected = results.flatMap(result => (result.status === 'rejected' ? [result.reason] : []))
  expect(rejected).toEqual([expect.objectContaining({ code: 'store_locked' })])
  const [first] = results
  const [name, other] = first.status === 'fulfilled' ? ['july.gz', 'too.gz'] : ['too.gz', 'july.gz']
  expect([existsSync(dir.at(name)), existsSync(dir.at(other))]).toEqual([true, false])
  expect(await accounting.archives()).toHaveLength(1)
  expect(await findings(name)).toEqual([])
})

test('the file has the lines of the documented form, as on SQLite', async () => {
  const { dir, archive } = await setUp()
  await archive(AUGUST, 'july.gz')
  const [header, ...entries] = linesOf(dir.at('july.gz'))
  const end = entries.pop()
  expect(archiveHeader.parse(header)).toMatchObject({ before: '2026-08-01T00:00:00.000Z', currency: 'EUR' })
  expect(archiveEnd.parse(end)).toEqual({ entries: 4 })
  expect(entries.map(entry => archivedEntry.parse(entry))).toEqual(entries)
  expect(entries[0]).toEqual({
    id: expect.any(Number),
    kind: 'settle',
    at: '2026-07-01T01:00:00.000Z',
    request_id: 'req_0123456789abcdef01234567',
    attempt: 1,
    key: 'app',
    tenant: 'acme',
    model: 'gpt',
    endpoint: 'east',
    amount: '0.0000004',
    input_tokens: 100,
    cached_input_tokens: 20,
    cache_write_tokens: 5,
    output_tokens: 300,
    search_units: 0,
    duration_ms: 0,
    characters: 0,
    images: 0,
    open_ms: 800,
    held: '0.0000009',
    held_tokens: 500,
  })
  expect(entries[1]).toMatchObject({ model: 'claude', flags: ['partial', 'estimated'] })
  expect(entries[2]).toMatchObject({ kind: 'release', amount: '0', reason: 'upstream_error' })
  expect(entries[3]).not.toHaveProperty('tenant')
})

test('several archives, any of them with its file; charges are computed again', async () => {
  const { archive, accounting, findings, write, requests, dir } = await setUp()
  const price = priceText({
    inputNanoPerMtok: 1_000_000_000n,
    outputNanoPerMtok: 0n,
    cachedInputNanoPerMtok: 1_000_000_000n,
    cacheWriteNanoPerMtok: 1_000_000_000n,
    requestNano: 0n,
    searchUnitNano: 0n,
    secondNano: 0n,
    characterNano: 0n,
    imageNano: 0n,
  })
  const openedAtMs = AUGUST + HOUR_MS
  await write(
    ['hold', hold('priced', { price, openedAtMs, deadlineMs: openedAtMs + HOUR_MS })],
    ['end', settle('priced', { amountNano: 100_000n, endedAtMs: openedAtMs + 1 })],
  )
  await archive(AUGUST, 'july.gz')
  const { archive: second } = await archive(SEPTEMBER, 'august.gz')
  expect(second).toMatchObject({ id: 2, entries: 3 })
  expect(linesOf(dir.at('august.gz')).filter(line => 'price' in line)).toMatchObject([
    { request_id: 'priced' },
  ])
  expect(await requests()).toEqual(['adjustment', 'adjustment', 'f'])
  for (const files of [[], ['july.gz'], ['august.gz'], ['august.gz', 'july.gz']])
    expect([files, await findings(...files)]).toEqual([files, []])
  expect(await accounting.verify({ files: [dir.at('july.gz')] })).toMatchObject({ entries: 7, archived: 3 })
  await write(...call('g', SEPTEMBER + 2 * HOUR_MS))
  expect(await findings('august.gz')).toEqual([])
})

test('a month with an open call waits, and no second end of an archived call is written', async () => {
  const { archive, findings, writer, write } = await setUp()
  const open = hold('open', { openedAtMs: AUGUST - 60_000, deadlineMs: SEPTEMBER + 2 * HOUR_MS })
  await write(['hold', open])
  expect(await archive(SEPTEMBER, 'early.gz')).toEqual({ archive: undefined, deleted: 0 })
  await write(['end', settle('open', { endedAtMs: AUGUST + 1 })])
  const { archive: written } = await archive(SEPTEMBER, 'all.gz')
  expect(written).toMatchObject({ beforeMs: SEPTEMBER, entries: 7 })
  expect(await findings('all.gz')).toEqual([])
  // From the journal of a gateway that was away for months.
  const [held, ended] = call('late', AUGUST - 1) as [Row, Row]
  expect(await writer.write([held])).toEqual([])
  expect(await writer.write([ended])).toEqual([expect.stringContaining('cannot be written')])
})

test('nothing to archive: no file, no record; a month that is not over for a day stays', async () => {
  const { dir, archive, accounting, write } = await setUp()
  expect(await archive(JULY, 'none.gz')).toEqual({ archive: undefined, deleted: 0 })
  await archive(SEPTEMBER, 'august.gz')
  expect(await archive(SEPTEMBER, 'again.gz')).toEqual({ archive: undefined, deleted: 0 })
  const nowMs = Date.now()
  await write(...call('today', nowMs))
  const nextMonth = Date.UTC(new Date(nowMs).getUTCFullYear(), new Date(nowMs).getUTCMonth() + 1)
  const { archive: last } = await archive(nextMonth, 'last.gz')
  expect(last?.beforeMs).toBeLessThan(nextMonth)
  expect(last?.entries).toBe(1)
  expect(['none.gz', 'again.gz'].map(name => existsSync(dir.at(name)))).toEqual([false, false])
  expect(await accounting.archives()).toHaveLength(2)
})

describe('nothing is changed', () => {
  test('if there is a file of this name, the ledger does not add up, or the archive cannot be recorded', async () => {
    const { dir, archive, database, accounting, requests } = await setUp()
    const all = await requests()
    writeFileSync(dir.at('july.gz'), 'mine')
    await expect(archive(AUGUST, 'july.gz')).rejects.toMatchObject({ code: 'file_exists' })
    await database.execute(`alter table archives add constraint full_disk check (entries < 0)`)
    await expect(archive(AUGUST, 'full.gz')).rejects.toThrow('full_disk')
    await database.execute(`alter table archives drop constraint full_disk`)
    await database.execute(`update usage_quarters set output_tokens = output_tokens + 1`)
    await expect(archive(AUGUST, 'other.gz')).rejects.toMatchObject({ code: 'ledger_inconsistent' })
    expect(readFileSync(dir.at('july.gz'), 'utf8')).toBe('mine')
    expect(existsSync(dir.at('other.gz')) || existsSync(dir.at('full.gz'))).toBe(false)
    expect(await accounting.archives()).toEqual([])
    expect(await requests()).toEqual(all)
  })
})

describe('finds', () => {
  const FREE = `alter table archived_usage disable trigger user;`
  test.each([
    [
      'a lost sum of the archive',
      `delete from archived_usage where publication = 'claude'`,
      /^usage_quarters app, claude, east, before 2026-08/,
    ],
    [
      'a changed sum',
      `update archived_usage set input_tokens = 7 where key_name = 'job'`,
      /key_totals job: counts differ/,
    ],
    ['a changed quarter of the archived time', `update usage_quarters set images = 1`, /before 2026-08/],
    ['a changed balance', 'update wallets set balance_nano = 1', /^wallets acme/m],
  ])('%s', async (_, statement, finding) => {
    const { database, archive, findings } = await setUp()
    await archive(AUGUST, 'july.gz')
    await database.execute(`${FREE} ${statement}`)
    expect((await findings()).join('\n')).toMatch(finding)
  })

  test('a shift between quarters of the archived time, with the file', async () => {
    const { database, archive, findings } = await setUp()
    await archive(AUGUST, 'july.gz')
    const quarter = JULY / 900_000 + 4
    await database.execute(`update usage_quarters set quarter = quarter + 1 where quarter = ${quarter}`)
    expect(await findings()).toEqual([])
    expect((await findings('july.gz')).join('\n')).toMatch(
      /usage_quarters app, gpt, east, quarter 2026-07-01T01:00Z/,
    )
  })

  test('a file that was changed', async () => {
    const { dir, archive, findings } = await setUp()
    await archive(AUGUST, 'july.gz')
    const text = gunzipSync(readFileSync(dir.at('july.gz'))).toString()
    writeFileSync(dir.at('changed.gz'), gzipSync(text.replace('"output_tokens":300', '"output_tokens":299')))
    await expect(findings('changed.gz')).rejects.toMatchObject({ code: 'archive_unknown' })
  })
})

test('entries and archives cannot be deleted', async () => {
  const { database, archive } = await setUp()
  await archive(AUGUST, 'july.gz')
  for (const statement of [
    'delete from ledger',
    'delete from archives',
    'update archived_usage set images = 1',
  ])
    await expect(database.execute(statement)).rejects.toThrow('append-only')
})
