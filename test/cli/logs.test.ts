import { EventEmitter } from 'node:events'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { type Usage, usageOf } from '../../src/schema/ledger.ts'
import { NamedAccounting } from '../../src/store/ledger/named-accounting.ts'
import { type TempDir, tempDir } from '../support/temp-dir.ts'
import { type TestClock, testClock } from '../support/test-clock.ts'
import { gw } from './in-process.ts'
import { FIRST } from './sample-tree.ts'
import { billed, logged, NOON_MS, write, writeRejected } from './traffic.ts'

let dir: TempDir
let clock: TestClock
const run = (line: string, world: Partial<Parameters<typeof gw>[1]> = {}) =>
  gw(line.split(' '), { cwd: dir.path, clock, ...world })
const objects = (stdout: string) =>
  stdout
    .trimEnd()
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line))
const ids = async (words: string) =>
  objects((await run(`logs ${words} --format json`)).stdout).map(({ request_id: id }) => id)
const traffic = (...rows: Parameters<typeof write>[1]) => write(dir.at('data/gw.db'), rows)

beforeEach(async () => {
  dir = tempDir(onTestFinished)
  clock = testClock(NOON_MS)
  dir.write('gw.yaml', FIRST)
  expect((await run('apply --yes --skip-probe')).exit).toBe(0)
})

it('has the units of a call that are no tokens, with tokens where there are any', async () => {
  const used = (id: string, usage: Partial<Usage>) =>
    billed({ id, atMs: NOON_MS - 1, record: { usage: usageOf(usage) } })
  await traffic(
    ...used('heard', { durationMs: 12_345 }),
    ...used('said', { characters: 1 }),
    ...used('made', { inputTokens: 120, outputTokens: 45, images: 2 }),
    ...used('none', {}),
  )
  const { stdout } = await run('logs')
  const units = stdout.split('\n').map(line => /app {2}(.*?) {2}0\.00075 EUR/.exec(line)?.[1])
  expect(units.slice(0, 4)).toEqual(['12.345 s of audio', '1 character', '120 → 45, 2 images', '0 → 0'])
  expect(objects((await run('logs --format json')).stdout)[0]).toMatchObject({
    duration_ms: 12_345,
    characters: 0,
    images: 0,
  })
})

function someTraffic() {
  return traffic(
    ...billed({ id: 'req-a', atMs: NOON_MS - 7_200_000, usage: { cachedInputTokens: 64 } }),
    logged({
      id: 'req-b',
      atMs: NOON_MS - 3_000,
      publication: 'a-longer-model',
      amountNano: 0n,
      usage: { inputTokens: 0 },
      record: { status: 502, outcome: 'failed', errorCode: 'upstream_error', attempts: 3, latencyMs: 20 },
    }),
    logged({
      id: 'req-c',
      atMs: NOON_MS - 2_000,
      key: 'admin',
      tenant: null,
      amountNano: 0n,
      usage: { inputTokens: 0 },
      record: { status: 429, outcome: 'failed', errorCode: 'upstream_rate_limited' },
    }),
    ...billed({
      id: 'req-d',
      atMs: NOON_MS - 1_000,
      endpoint: 'slow',
      flags: ['client_gone', 'estimated'],
      record: { stream: true, outcome: 'client_gone' },
    }),
  )
}

describe('gw logs', () => {
  it('prints a line for each call, the newest last', async () => {
    await someTraffic()
    const { exit, stdout, stderr } = await run('logs')
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' })
    await expect(stdout).toMatchFileSnapshot('golden/logs.txt')
  })

  it('colours what failed, and nothing with NO_COLOR', async () => {
    await someTraffic()
    const coloured = await run('logs', { terminal: 200 })
    await expect(coloured.stdout).toMatchFileSnapshot('golden/logs.colour.txt')
    const plain = await run('logs', { terminal: 200, environment: { NO_COLOR: '1' } })
    expect(plain.stdout).toBe((await run('logs')).stdout)
  })

  it('leaves out what a narrow terminal has no room for', async () => {
    await someTraffic()
    const { stdout } = await run('logs --color never', { terminal: 100 })
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(100)
    await expect(stdout).toMatchFileSnapshot('golden/logs.narrow.txt')
  })

  it('is JSON Lines for programs: one object a line', async () => {
    await someTraffic()
    const { stdout } = await run('logs --format json')
    await expect(stdout).toMatchFileSnapshot('golden/logs.json.txt')
    expect(objects(stdout)).toHaveLength(4)
  })

  it('rejects an outcome that there is not, and says which was meant', async () => {
    const near = await run('logs --outcome client_gon')
    expect(near.exit).toBe(64)
    expect(near.stderr).toContain('Did you mean client_gone?')
    const far = await run('logs --outcome 42')
    expect(far.stderr).toContain('answered, rejected, failed, broken, client_gone, interrupted')
    expect((await run('logs --outcome interrupted')).exit).toBe(0)
  })

  it('is one line also where it fails', async () => {
    const { exit, stdout } = await run('logs --format json --store sqlite:./typo.db')
    expect(exit).toBe(4)
    expect(objects(stdout)).toEqual([{ error: expect.objectContaining({ code: 'GW2003' }) }])
  })

  it.each<[string, string[]]>([
    ['--key app', ['req-a', 'req-b', 'req-d']],
    ['--key admin', ['req-c']],
    ['--tenant blue --model chat', ['req-a', 'req-d']],
    ['--endpoint slow', ['req-d']],
    ['--outcome client_gone', ['req-d']],
    ['--request-id req-b', ['req-b']],
    ['--since 1h', ['req-b', 'req-c', 'req-d']],
    ['--since 2026-01-15T11:59:58Z', ['req-c', 'req-d']],
    ['--status 502', ['req-b']],
    ['--status 4xx', ['req-c']],
    ['--status >=400', ['req-b', 'req-c']],
    ['--status 2xx --limit 1', ['req-d']],
    ['--limit 2', ['req-c', 'req-d']],
  ])('%s finds just those', async (words, found) => {
    await someTraffic()
    expect(await ids(words)).toEqual(found)
  })

  it('goes on through pages until it has found as many as were asked for', async () => {
    const failed = { status: 404, outcome: 'failed' }
    await traffic(
      logged({ id: 'first', record: failed }),
      logged({ id: 'second', record: failed }),
      ...Array.from({ length: 2_100 }, (_, at) => logged({ id: `r${at}`, record: { status: 500 } })),
    )
    expect(await ids('--status 4xx --limit 5')).toEqual(['first', 'second'])
    expect(await ids('--status 5xx --limit 2050')).toHaveLength(2_050)
  })

  it('has the store look for a status, and a follower without a match never reads the log anew', async () => {
    await traffic(...Array.from({ length: 50 }, (_, at) => logged({ id: `r${at}`, record: { status: 500 } })))
    const read = vi.spyOn(NamedAccounting.prototype, 'callLogs')
    onTestFinished(() => read.mockRestore())
    const signals = new EventEmitter()
    const ended = run('logs --follow --status 4xx', { signals })
    await expect.poll(() => read.mock.calls.some(([query]) => query?.after !== undefined)).toBe(true)
    signals.emit('SIGINT')
    expect((await ended).exit).toBe(0)
    const queries = read.mock.calls.map(([query]) => query ?? {})
    expect(queries.filter(({ after }) => after !== undefined)).toEqual([
      { minStatus: 400, maxStatus: 499, limit: 1_000, after: 50 },
    ])
    expect(queries[0]).toEqual({ limit: 1 })
    expect(queries[1]).toEqual({ minStatus: 400, maxStatus: 499, limit: 100 })
  })

  it('says that there are none, and which name may be the reason', async () => {
    const { exit, stdout, stderr } = await run('logs --model chatt')
    expect({ exit, stdout }).toEqual({ exit: 0, stdout: '' })
    expect(stderr).toBe('No such calls. There is no publication chatt now. Did you mean chat?\n')
    expect((await run('logs --format json')).stdout).toBe('')
  })

  it.each<[string, RegExp]>([
    ['--status 4x', /`--status 4x` is not a status/],
    ['--status 6xx', /is not a status/],
    ['--since lately', /`--since lately` is not a time/],
    ['--limit 0', /whole number, 1 or more/],
  ])('rejects %s', async (words, message) => {
    const { exit, stdout, stderr } = await run(`logs ${words}`)
    expect({ exit, stdout }).toEqual({ exit: 64, stdout: '' })
    expect(stderr).toMatch(message)
  })
})

describe('gw logs shows what was rejected before it was dispatched', () => {
  const rejected = {
    protocol: 'openai',
    path: '/v1/chat/completions',
    status: 429,
    errorCode: 'rate_limit_requests',
    message: 'Requests per minute of key `app`: limit 60, remaining 0, needed 1; possible again in 1 s.',
    key: 'app',
    tenant: 'blue',
    count: 1,
  } as const
  const someRejected = () =>
    writeRejected(dir.at('data/gw.db'), [
      { ...rejected, requestId: 'no-1', atMs: NOON_MS - 2_500, askedModel: 'chat', count: 12 },
      {
        ...rejected,
        requestId: 'no-2',
        atMs: NOON_MS - 500,
        askedModel: 'a "quoted"\nname',
        status: 404,
        errorCode: 'model_not_found',
        message: 'The model does not exist, or is not listed.',
      },
    ])

  it('between the calls, with the asked model in quotes, the reason, the numbers, and how many were alike', async () => {
    await someTraffic()
    await someRejected()
    expect(await ids('--since 1h')).toEqual(['req-b', 'no-1', 'req-c', 'req-d', 'no-2'])
    const { stdout } = await run('logs --outcome rejected --key app')
    await expect(stdout).toMatchFileSnapshot('golden/logs.rejected.txt')
    const json = await run('logs --outcome rejected --key app --format json')
    await expect(json.stdout).toMatchFileSnapshot('golden/logs.rejected.json.txt')
  })

  it.each<[string, string[]]>([
    ['--status 429', ['no-1', 'req-c']],
    ['--model chat --status 4xx', ['no-1', 'req-c']],
    ['--endpoint fast --status 4xx', ['req-c']],
    ['--request-id no-2', ['no-2']],
    ['--limit 2', ['req-d', 'no-2']],
    ['--tenant blue --outcome rejected', ['no-1', 'no-2']],
  ])('to %s', async (words, found) => {
    await someTraffic()
    await someRejected()
    expect(await ids(words)).toEqual(found)
  })

  it('and follows it', async () => {
    const signals = new EventEmitter()
    const following = run('logs -f --format json', { signals })
    await clock.waiting()
    await someRejected()
    clock.advance(500)
    await clock.waiting()
    clock.advance(500)
    await clock.waiting()
    signals.emit('SIGTERM')
    const { stdout } = await following
    expect(objects(stdout).map(({ request_id: id }) => id)).toEqual(['no-1', 'no-2'])
  })
})

it('gw logs shows the cause of a failed call, and the attempts before it', async () => {
  const failedAttempts = ['fast: upstream_error (ECONNREFUSED)', 'slow: upstream_error (answered 500)']
  const failed = { status: 502, outcome: 'failed', errorCode: 'upstream_error', attempts: 2, failedAttempts }
  await traffic(logged({ id: 'req-x', amountNano: 0n, record: { ...failed, reason: 'slow answered 500' } }))
  const { stdout } = await run('logs')
  expect(stdout).toContain(
    'failed upstream_error 2 attempts  slow answered 500  after fast: upstream_error (ECONNREFUSED)',
  )
  expect(objects((await run('logs --format json')).stdout)).toMatchObject([
    { reason: 'slow answered 500', failed_attempts: failedAttempts },
  ])
})

describe('gw logs --follow', () => {
  it('prints what stands, then each new call that the filters let through, until a signal, which is success', async () => {
    await someTraffic()
    const signals = new EventEmitter()
    const following = run('logs --follow --limit 1 --status 2xx --format json', { signals })
    await clock.waiting()
    await traffic(
      ...billed({ id: 'new-1', atMs: NOON_MS }),
      logged({ id: 'not-me', record: { status: 500 } }),
      ...billed({ id: 'new-2', atMs: NOON_MS }),
    )
    clock.advance(500)
    await clock.waiting()
    clock.advance(500)
    await clock.waiting()
    await traffic(...billed({ id: 'new-3', atMs: NOON_MS }))
    clock.advance(500)
    await clock.waiting()
    signals.emit('SIGINT')
    const { exit, stdout, stderr } = await following
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' })
    expect(objects(stdout).map(({ request_id: id }) => id)).toEqual(['req-d', 'new-1', 'new-2', 'new-3'])
  })

  it('waits quietly in a store without a call', async () => {
    const signals = new EventEmitter()
    const following = run('logs -f', { signals })
    await clock.waiting()
    await traffic(...billed({ id: 'new-1', atMs: NOON_MS }))
    clock.advance(500)
    await clock.waiting()
    signals.emit('SIGTERM')
    expect(await following).toMatchObject({ exit: 0, stdout: expect.stringContaining('new-1'), stderr: '' })
    expect(clock.pending).toBe(0)
  })

  it('ends quietly when its reader has left', async () => {
    await someTraffic()
    const { exit, stderr } = await run('logs --follow', { stdoutFault: 'EPIPE' })
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' })
  })

  it('ends with 1 when stdout is full', async () => {
    await someTraffic()
    const { exit, stderr } = await run('logs --follow', { stdoutFault: 'ENOSPC' })
    expect(exit).toBe(1)
    expect(stderr).toContain('ENOSPC')
  })
})
