import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { type TempDir, tempDir } from '../support/temp-dir.ts'
import { type TestClock, testClock } from '../support/test-clock.ts'
import { gw } from './in-process.ts'
import { FIRST } from './sample-tree.ts'
import { billed, NOON_MS, write } from './traffic.ts'

const DAY_MS = 86_400_000

let dir: TempDir
let clock: TestClock
const run = (line: string, world: Partial<Parameters<typeof gw>[1]> = {}) =>
  gw(line.split(' '), { cwd: dir.path, clock, ...world })
const json = async (line: string) => JSON.parse((await run(`${line} --format json`)).stdout)
const traffic = (...rows: Parameters<typeof write>[1]) => write(dir.at('data/gw.db'), rows)

beforeEach(async () => {
  dir = tempDir(onTestFinished)
  clock = testClock(NOON_MS)
  dir.write('gw.yaml', FIRST)
  expect((await run('apply --yes --skip-probe')).exit).toBe(0)
})

/** Priced and free, of a tenant and of the platform, over four days of which one is quiet. */
function someTraffic() {
  return traffic(
    ...billed({
      id: 'a',
      atMs: NOON_MS - 3 * DAY_MS,
      amountNano: 2_500_000_000n,
      usage: { cachedInputTokens: 64 },
    }),
    ...billed({
      id: 'b',
      atMs: NOON_MS - DAY_MS - 3_600_000,
      amountNano: 1_250_000_000n,
      publication: 'a-model-with-a-long-name',
    }),
    ...billed({ id: 'c', atMs: NOON_MS - 60_000, amountNano: 100_000n, key: 'other', flags: ['estimated'] }),
    ...billed({
      id: 'd',
      atMs: NOON_MS - 60_000,
      amountNano: 0n,
      key: 'admin',
      tenant: null,
      publication: 'free',
      endpoint: 'slow',
      usage: { inputTokens: 9_000, outputTokens: 1_000, searchUnits: 3 },
      flags: ['unpriced'],
    }),
  )
}

describe('gw usage', () => {
  it.each(['model', 'key', 'tenant', 'endpoint', 'day'])('adds up by %s, with the sums below', async by => {
    await someTraffic()
    const { exit, stdout } = await run(`usage --by ${by}`)
    expect(exit).toBe(0)
    await expect(stdout).toMatchFileSnapshot(`golden/usage-${by}.txt`)
  })

  it('draws a bar for each on a terminal, of the money', async () => {
    await someTraffic()
    const { stdout } = await run('usage --by day', { terminal: 100, environment: { NO_COLOR: '1' } })
    await expect(stdout).toMatchFileSnapshot('golden/usage-day.terminal.txt')
    expect(stdout).not.toContain('\u001B')
  })

  it('has columns for audio, characters and images where there are any', async () => {
    const usage = { inputTokens: 0, outputTokens: 0 }
    await traffic(
      ...billed({ id: 'a', atMs: NOON_MS - 1, usage: { ...usage, durationMs: 12_345, images: 2 } }),
      ...billed({ id: 'b', atMs: NOON_MS - 1, publication: 'half', usage: { ...usage, durationMs: 655 } }),
    )
    const { stdout } = await run('usage')
    expect(stdout).toMatch(/^MODEL .* AUDIO \(s\) {2}IMAGES$/m)
    expect(stdout).toMatch(/^chat .* 12\.345 {7}2$/m)
    expect(stdout).toMatch(/^total .* 13 {7}2$/m)
    expect((await json('usage')).data).toMatchObject([
      { label: 'chat', duration_ms: 12_345, characters: 0, images: 2 },
      { label: 'half', duration_ms: 655, characters: 0, images: 0 },
    ])
  })

  it('draws the bars of the tokens where nothing is priced', async () => {
    await traffic(
      ...billed({
        id: 'a',
        atMs: NOON_MS - 1,
        amountNano: 0n,
        usage: { inputTokens: 600, outputTokens: 200 },
      }),
      ...billed({
        id: 'b',
        atMs: NOON_MS - 1,
        amountNano: 0n,
        publication: 'half',
        usage: { inputTokens: 300, outputTokens: 100 },
      }),
    )
    const { stdout } = await run('usage --color never', { terminal: 100 })
    expect(stdout).toMatch(/^chat .* 0 {2}█{24}$/m)
    expect(stdout).toMatch(/^half .* 0 {2}█{12}$/m)
  })

  it.each([90, 72, 60])('fits a terminal of %i columns', async columns => {
    await someTraffic()
    const { stdout } = await run('usage --color never', { terminal: columns })
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(columns)
    await expect(stdout).toMatchFileSnapshot(`golden/usage-model.${columns}-columns.txt`)
  })

  it('says its span, as text and as JSON: the quarters of an hour that it has added up', async () => {
    await someTraffic()
    const { stderr } = await run('usage --since 2026-01-10T08:07:00Z --until 2026-01-15T11:50:00Z')
    expect(stderr).toBe('Billed calls from 2026-01-10T08:00Z to 2026-01-15T12:00Z:\n')
    expect(await json('usage --since 2026-01-10T08:07:00Z --until 2026-01-15T11:50:00Z')).toMatchObject({
      since: '2026-01-10T08:00:00.000Z',
      until: '2026-01-15T12:00:00.000Z',
    })
    expect((await run('usage')).stderr).toBe('Billed calls from 2025-12-16T12:00Z to 2026-01-15T12:00Z:\n')
  })

  it('gives programs one document', async () => {
    await someTraffic()
    const { stdout } = await run('usage --by tenant --format json')
    await expect(stdout).toMatchFileSnapshot('golden/usage-tenant.json.txt')
  })

  it('counts what the filters let through, and nothing else', async () => {
    await someTraffic()
    const requests = async (words: string) =>
      (await json(`usage ${words}`)).data.map((row: { requests: number }) => row.requests)
    expect(await requests('--key app')).toEqual([1, 1])
    expect(await requests('--tenant blue --model chat')).toEqual([2])
    expect(await requests('--endpoint slow')).toEqual([1])
    expect(await requests('--since 24h')).toEqual([1, 1])
    expect(await requests('--since 2026-01-12 --until 2026-01-13')).toEqual([1])
    expect(await requests('--since 2026-01-12T13:00:00Z --until 2026-01-14T10:30:00-01:00')).toEqual([1])
  })

  it('begins days where the zone does', async () => {
    await traffic(...billed({ id: 'late', atMs: Date.UTC(2026, 0, 14, 23, 30) }))
    expect((await json('usage --by day')).data).toMatchObject([{ label: '2026-01-14' }])
    expect((await json('usage --by day --timezone Europe/Berlin')).data).toMatchObject([
      { label: '2026-01-15' },
    ])
    expect((await json('usage --since 2026-01-15 --timezone Europe/Berlin')).data).toHaveLength(1)
    expect((await json('usage --since 2026-01-15')).data).toHaveLength(0)
    expect(
      (await json('usage --since 2026-01-14 --until 2026-01-15 --timezone America/New_York')).data,
    ).toHaveLength(1)
  })

  it('by days of the last two days begins with a whole day', async () => {
    await traffic(...billed({ id: 'early', atMs: NOON_MS - 2 * DAY_MS - 3_600_000 }))
    expect((await json('usage --by day --since 2d')).data).toHaveLength(1)
    expect((await json('usage --by key --since 2d')).data).toHaveLength(0)
  })

  it('says kindly that there was nothing, and which name may be the reason', async () => {
    const { exit, stdout, stderr } = await run('usage --since 7d --key ap')
    expect({ exit, stdout }).toEqual({ exit: 0, stdout: '' })
    expect(stderr).toBe(
      'No billed calls from 2026-01-08T12:00Z to 2026-01-15T12:00Z. There is no key ap now. Did you mean app?\n',
    )
    expect((await json('usage')).data).toEqual([])
  })

  it.each<[string, RegExp]>([
    ['--by colour', /key, tenant, model, endpoint, day/],
    ['--since yesterday', /`--since yesterday` is not a time/],
    ['--since 2026-02-30', /`--since 2026-02-30` is not a time/],
    ['--since 1h --until 2h', /is empty\.\n.*earlier than --until/],
    ['--timezone Moon', /Europe\/Berlin/],
  ])('rejects %s', async (words, message) => {
    const { exit, stdout, stderr } = await run(`usage ${words}`)
    expect({ exit, stdout }).toEqual({ exit: 64, stdout: '' })
    expect(stderr).toMatch(message)
  })
})

describe('gw keys list', () => {
  it('finds the keys without use for so long, young ones left out', async () => {
    clock.advance(40 * DAY_MS)
    await traffic(...billed({ id: 'a', atMs: clock.nowMs() - 29 * DAY_MS }))
    await run('keys create idle --kind platform')
    clock.advance(DAY_MS)
    const names = async (words: string) =>
      (await json(`keys list ${words}`)).data.map((key: { name: string }) => key.name)
    expect(await names('--unused 31d')).toEqual([])
    expect(await names('--unused 29d')).toEqual(['app'])
    expect(await names('--unused 1d')).toEqual(['app', 'idle'])
  })

  it('finds the keys that expire soon, with the day', async () => {
    await run('keys create soon --kind platform --expires 10d')
    await run('keys create later --kind platform --expires 90d')
    await run('keys create never --kind platform')
    const { stdout } = await run('keys list --expiring 14d')
    await expect(stdout).toMatchFileSnapshot('golden/keys-list-expiring.txt')
    expect((await json('keys list --expiring 14d --unused 1h')).data).toEqual([])
    clock.advance(10 * DAY_MS)
    expect((await run('keys list --expiring 14d')).stderr).toBe('No such keys.\n')
  })
})
