import { existsSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { gunzipSync, gzipSync } from 'node:zlib'
import { describe, expect, onTestFinished, test } from 'vitest'
import { archivedEntry, archiveEnd, archiveHeader } from '../../../src/schema/archive.ts'
import type { Settlement } from '../../../src/schema/ledger.ts'
import { priceText } from '../../../src/schema/price.ts'
import type { Row } from '../../../src/store/ledger/messages.ts'
import { NamedAccounting } from '../../../src/store/ledger/named-accounting.ts'
import { Accounts } from '../../../src/store/renames.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { inMemory } from './in-memory.ts'
import { hold, release, settle } from './rows.ts'

const JULY = Date.UTC(2026, 6, 1)
const AUGUST = Date.UTC(2026, 7, 1)
const SEPTEMBER = Date.UTC(2026, 8, 1)
const HOUR_MS = 3_600_000

/** A call of `app` for `acme`, or with other names, that ended at this time. */
function call(id: string, endedAtMs: number, more: Partial<Settlement> = {}): Row[] {
  const { key = 'app', publication = 'gpt' } = more
  const tenant = 'tenant' in more ? more.tenant : 'acme'
  return [
    ['hold', hold(id, { key, publication, tenant, openedAtMs: endedAtMs - 800 })],
    ['end', settle(id, { ...more, endedAtMs })],
  ]
}

/** July with a credit, two places, a released call and a platform key; August; and a call of July that is written late. */
async function setUp() {
  const dir = tempDir(onTestFinished)
  const { raw, book, accounting } = inMemory(() => SEPTEMBER + HOUR_MS)
  book.write(call('req_0123456789abcdef01234567', JULY + HOUR_MS))
  await accounting.credit({ tenant: 'acme', amountNano: 10_000n, reference: 'inv-1' })
  book.write([
    ...call('b', JULY + 2 * HOUR_MS, { flags: ['estimated', 'partial'], publication: 'claude' }),
    ['hold', hold('c')],
    ['end', release('c', { endedAtMs: JULY + 3 * HOUR_MS })],
  ])
  book.write(call('d', AUGUST - 1, { key: 'job', tenant: undefined }))
  book.write(call('e', AUGUST, { publication: 'claude' }))
  book.write(call('late', JULY + 4 * HOUR_MS))
  book.write([...call('f', SEPTEMBER + 1), ['hold', hold('open', { deadlineMs: SEPTEMBER + 2 * HOUR_MS })]])
  await accounting.credit({ tenant: 'acme', amountNano: 7n, reference: 'inv-2' })
  const archive = (beforeMs: number, name: string) =>
    accounting.archive({ path: dir.at(name), beforeMs, currency: 'EUR' })
  return {
    dir,
    raw,
    book,
    accounting,
    archive,
    ids: () => raw.prepare('select id from ledger order by id').pluck().all(),
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

test('the ends of calls before the month go to the file, and adjustments stay', async () => {
  const { dir, accounting, archive, ids, findings } = await setUp()
  const before = await accounting.wallet('acme')
  const { archive: written, deleted } = await archive(AUGUST, 'july.gz')
  expect(written).toMatchObject({ id: 1, firstId: 1, lastId: 5, entries: 4, file: dir.at('july.gz') })
  expect(deleted).toBe(4)
  expect(ids()).toEqual([2, 6, 7, 8, 9])
  expect(await accounting.archives()).toEqual([written])
  expect(await accounting.wallet('acme')).toEqual(before)
  expect(await findings()).toEqual([])
  expect(await findings('july.gz')).toEqual([])
})

test('the file has all that the ledger had, in lines of the documented form', async () => {
  const { dir, archive } = await setUp()
  await archive(AUGUST, 'july.gz')
  const [header, ...entries] = linesOf(dir.at('july.gz'))
  const end = entries.pop()
  expect(archiveHeader.parse(header)).toEqual({
    format: 'gw-ledger-archive',
    version: 1,
    before: '2026-08-01T00:00:00.000Z',
    first_id: 1,
    last_id: 5,
    currency: 'EUR',
    prices: {},
  })
  expect(archiveEnd.parse(end)).toEqual({ entries: 4 })
  expect(entries.map(entry => archivedEntry.parse(entry))).toEqual(entries)
  expect(entries[0]).toEqual({
    id: 1,
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

test('the header has the names of accounts that were renamed', async () => {
  const { dir, accounting } = await setUp()
  const accounts = async () =>
    new Accounts(
      new Map([
        ['tenant/acme', 'azure'],
        ['tenant/solo~r3', 'acme'],
        ['key/app', 'app'],
        ['publication/gpt', 'chat'],
      ]),
    )
  const path = dir.at('july.gz')
  await new NamedAccounting(accounting, accounts).archive({ path, beforeMs: AUGUST, currency: 'EUR' })
  expect(archiveHeader.parse(linesOf(path)[0]).names).toEqual({
    tenant: { acme: 'azure', 'solo~r3': 'acme' },
    model: { gpt: 'chat' },
  })
  expect((await accounting.verify({ files: [path] })).findings).toEqual([])
})

test('prices are in the header, and charges are computed again from the file', async () => {
  const { dir, book, archive, findings } = await setUp()
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
  book.write([
    ['hold', hold('priced', { price })],
    ['end', settle('priced', { amountNano: 100_000n, endedAtMs: AUGUST })],
    ...call('g', SEPTEMBER + 2),
  ])
  await archive(SEPTEMBER + HOUR_MS, 'all.gz')
  const lines = linesOf(dir.at('all.gz'))
  expect(lines[0]).toMatchObject({ prices: { 1: JSON.parse(price) as object } })
  expect(lines.filter(line => 'price' in line)).toMatchObject([{ request_id: 'priced', price: 1 }])
  expect(await findings('all.gz')).toEqual([])
})

test('several archives, any of them with its file', async () => {
  const { archive, accounting, findings, ids } = await setUp()
  await archive(AUGUST, 'july.gz')
  const { archive: second } = await archive(SEPTEMBER, 'august.gz')
  expect(second).toMatchObject({ id: 2, firstId: 6, lastId: 7, entries: 2 })
  expect(ids()).toEqual([2, 8, 9])
  for (const files of [[], ['july.gz'], ['august.gz'], ['august.gz', 'july.gz']])
    expect([files, await findings(...files)]).toEqual([files, []])
  const counts = async (...files: string[]) => {
    const { entries, archived } = await accounting.verify({ files })
    return { entries, archived }
  }
  expect(await counts()).toEqual({ entries: 3, archived: 6 })
})

test('a ledger goes on after its archive: new calls, another archive, the same balance as without', async () => {
  const { archive, accounting, book, findings } = await setUp()
  await archive(SEPTEMBER, 'august.gz')
  book.write([['end', settle('open', { endedAtMs: SEPTEMBER + HOUR_MS })]])
  book.write(call('g', SEPTEMBER + 2 * HOUR_MS))
  expect(await findings('august.gz')).toEqual([])
  expect(await accounting.wallet('acme')).toMatchObject({ balanceNano: 10_007n - 7n * 400n })
})

test('the newest entry stays, because its id must not be used again', async () => {
  const { archive, book, ids, findings } = await setUp()
  expect(await archive(SEPTEMBER + 24 * HOUR_MS, 'all.gz')).toMatchObject({ isNewestLeft: true })
  expect(ids()).toEqual([2, 9])
  book.write(call('g', SEPTEMBER))
  expect(ids()).toEqual([2, 9, 10])
  expect(await findings('all.gz')).toEqual([])
})

test('nothing to archive: no file, no record', async () => {
  const { dir, archive, accounting } = await setUp()
  expect(await archive(JULY, 'none.gz')).toEqual({ archive: undefined, deleted: 0 })
  await archive(AUGUST, 'july.gz')
  expect(await archive(AUGUST, 'again.gz')).toEqual({ archive: undefined, deleted: 0 })
  expect([existsSync(dir.at('none.gz')), existsSync(dir.at('again.gz'))]).toEqual([false, false])
  expect(await accounting.archives()).toHaveLength(1)
})

describe('nothing is changed', () => {
  test('if there is a file of this name', async () => {
    const { dir, archive, ids } = await setUp()
    writeFileSync(dir.at('july.gz'), 'mine')
    await expect(archive(AUGUST, 'july.gz')).rejects.toMatchObject({ code: 'file_exists' })
    expect(readFileSync(dir.at('july.gz'), 'utf8')).toBe('mine')
    expect(ids()).toHaveLength(9)
  })

  test('if the ledger does not add up', async () => {
    const { dir, raw, archive, accounting, ids } = await setUp()
    raw.exec(
      `update usage_quarters set output_tokens = output_tokens + 1 where quarter = ${JULY / 900_000 + 4}`,
    )
    await expect(archive(AUGUST, 'july.gz')).rejects.toMatchObject({ code: 'ledger_inconsistent' })
    expect(existsSync(dir.at('july.gz'))).toBe(false)
    expect(await accounting.archives()).toEqual([])
    expect(ids()).toHaveLength(9)
  })

  test('if the archive cannot be recorded', async () => {
    const { dir, raw, archive, ids } = await setUp()
    raw.exec(`create trigger full before insert on archives begin select raise(abort, 'full'); end`)
    await expect(archive(AUGUST, 'july.gz')).rejects.toThrow('full')
    expect(ids()).toHaveLength(9)
    expect(existsSync(dir.at('july.gz'))).toBe(false)
  })

  test('if another archive of the same entries is faster', async () => {
    const { dir, archive, accounting, ids, findings } = await setUp()
    const results = await Promise.allSettled([archive(AUGUST, 'july.gz'), archive(SEPTEMBER, 'both.gz')])
    const [first, second] = results.map(result => (result.status === 'rejected' ? result.reason : 'archived'))
    const name = first === 'archived' ? 'july.gz' : 'both.gz'
    expect(first === 'archived' ? second : first).toMatchObject({ code: 'store_locked' })
    expect([existsSync(dir.at('july.gz')), existsSync(dir.at('both.gz'))].filter(Boolean)).toHaveLength(1)
    expect(await accounting.archives()).toHaveLength(1)
    expect(ids().length).toBeLessThan(9)
    expect(await findings(name)).toEqual([])
  })

  test('if it is ended before the file is complete', async () => {
    const { dir, accounting, ids } = await setUp()
    const ended = new AbortController()
    const archiving = accounting.archive(
      { path: dir.at('july.gz'), beforeMs: AUGUST, currency: 'EUR' },
      { signal: ended.signal, onProgress: step => step === 'verify' && ended.abort() },
    )
    await expect(archiving).rejects.toMatchObject({ name: 'AbortError' })
    expect([existsSync(dir.at('july.gz')), existsSync(dir.at('july.gz.partial'))]).toEqual([false, false])
    expect(ids()).toHaveLength(9)
  })

  test('if the folder cannot be written', async () => {
    const { archive, ids } = await setUp()
    await expect(archive(AUGUST, 'none/july.gz')).rejects.toMatchObject({
      code: 'store_unavailable',
      message: expect.stringMatching(/none\/july\.gz cannot be used: ENOENT/),
    })
    expect(ids()).toHaveLength(9)
  })
})

test('what an interrupted run has not deleted counts once, and the next run deletes it', async () => {
  const { raw, book, accounting, archive, findings } = await setUp()
  for (let at = 0; at < 2_500; at++) book.write(call(`many-${at}`, AUGUST))
  book.write(call('g', SEPTEMBER))
  const ended = new AbortController()
  const first = accounting.archive(
    { path: tempDir(onTestFinished).at('a.gz'), beforeMs: SEPTEMBER + HOUR_MS, currency: 'EUR' },
    { signal: ended.signal, onProgress: step => step === 'delete' && ended.abort() },
  )
  await expect(first).rejects.toMatchObject({ name: 'AbortError' })
  const left = raw.prepare('select count(*) from ledger').pluck().get() as number
  expect(left).toBeGreaterThan(400)
  expect(await findings()).toEqual([])
  const { archive: second, deleted } = await archive(SEPTEMBER + HOUR_MS, 'b.gz')
  expect(second).toBeUndefined()
  expect(deleted).toBe(left - 3)
  expect(await findings()).toEqual([])
})

describe('finds', () => {
  const FREE = 'drop trigger ledger_is_not_deleted; drop trigger archived_usage_is_not_updated;'
  test.each([
    [
      'a lost entry of the archive',
      `delete from archived_usage where publication = 'claude'`,
      /^wallets tenant acme: is 8007, but the entries come to 8407/,
    ],
    [
      'a changed sum',
      `update archived_usage set input_tokens = 7 where key_name = 'job'`,
      /key_totals tokens of key job/,
    ],
    ['a lost adjustment', 'delete from ledger where id = 2', /^ledger ids up to 5: 4 of them/],
    ['a changed quarter of the archived time', `update usage_quarters set images = 1`, /before 2026-08/],
    ['a changed balance', 'update wallets set balance_nano = 1', /^wallets tenant acme/],
  ])('%s', async (_, statement, finding) => {
    const { raw, archive, findings } = await setUp()
    await archive(AUGUST, 'july.gz')
    raw.exec(`${FREE} drop trigger archived_usage_is_not_deleted; ${statement}`)
    expect((await findings()).join('\n')).toMatch(finding)
  })

  test('a shift between quarters of the archived time, with the file', async () => {
    const { raw, archive, findings } = await setUp()
    await archive(AUGUST, 'july.gz')
    raw.exec(`update usage_quarters set quarter = quarter + 1 where quarter = ${JULY / 900_000 + 4}`)
    expect(await findings()).toEqual([])
    expect((await findings('july.gz')).join('\n')).toMatch(
      /usage_quarters app, gpt, east, quarter 2026-07-01T01:00Z/,
    )
  })

  test('a file that was changed, cut or is of another store', async () => {
    const { dir, archive, findings } = await setUp()
    await archive(AUGUST, 'july.gz')
    const bytes = readFileSync(dir.at('july.gz'))
    const text = gunzipSync(bytes).toString().replace('"output_tokens":300', '"output_tokens":299')
    writeFileSync(dir.at('changed.gz'), gzipSync(text))
    writeFileSync(dir.at('cut.gz'), bytes.subarray(0, -9))
    for (const name of ['changed.gz', 'cut.gz', 'none.gz'])
      await expect(findings(name)).rejects.toMatchObject({ code: 'archive_unknown' })
    truncateSync(dir.at('july.gz'), 20)
    await expect(findings('july.gz')).rejects.toMatchObject({ code: 'archive_unknown' })
  })
})

test.each([
  'delete from ledger where id = 6',
  'delete from ledger where id = 2',
  'delete from archives',
  'update archives set last_id = 9',
  'delete from archived_usage',
])('entries that are in no archive, and archives, cannot be deleted: %s', async statement => {
  const { raw, archive } = await setUp()
  await archive(AUGUST, 'july.gz')
  expect(() => raw.exec(statement)).toThrow('append-only')
})
