import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { LiveStatsMonitor, type LiveStatsSources } from '../../../src/services/live-stats/monitor.ts'
import type { LiveStats } from '../../../src/services/live-stats/types.ts'
import { gw } from '../../cli/in-process.ts'
import { json } from '../../support/answers.ts'
import { freePort } from '../../support/free-port.ts'
import { scriptedUpstream } from '../../support/scripted-upstream.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { type WholeGateway, wholeGateway } from '../../support/whole-gateway.ts'

const TOKEN = 'a-token-of-the-operator'
const PASSWORD = 'correct horse battery'
const ANSWER = {
  choices: [],
  model: 'served',
  usage: { prompt_tokens: 30, completion_tokens: 20, total_tokens: 50 },
}

const dir = tempDir(afterAll)
const upstream = await scriptedUpstream(afterAll)
let gateway: WholeGateway
let secret: string

beforeAll(async () => {
  const config = dir.write(
    'gw.yaml',
    `version: 1
endpoints:
  main: { protocol: openai, base_url: "${upstream.url}/v1", served_model: served }
  off: { protocol: openai, base_url: "${upstream.url}/v1", served_model: served, enabled: false }
publications:
  chat: { bindings: [{ endpoint: main }], price: { input: "1000", output: "1000" } }
keys:
  app: { kind: platform, quota: 100000, budget: { amount: "10000", per: total }, limits: { rpm: 100000 } }
  idle: { kind: platform }
`,
  )
  gateway = await wholeGateway(afterAll, config, { METRICS_TOKEN: TOKEN })
  secret = await gateway.issue('app')
})

async function chat(model = 'chat'): Promise<number> {
  upstream.answer(json(ANSWER))
  const answer = await fetch(`${gateway.gatewayUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, max_tokens: 5 }),
  })
  await answer.text()
  return answer.status
}

async function monitor(sources: Partial<LiveStatsSources> = {}): Promise<LiveStatsMonitor> {
  const opened = await LiveStatsMonitor.open(
    { storeUrl: gateway.store, ...sources },
    { clock: systemClock, cwd: dir.path, signal: new AbortController().signal },
  )
  onTestFinished(() => opened.close())
  return opened
}

/** Calls until a look has seen them: what was sent is counted behind its last byte. */
async function seen(watch: LiveStatsMonitor, fits: (liveStats: LiveStats) => boolean): Promise<LiveStats> {
  await watch.sample()
  for (;;) {
    expect(await chat()).toBe(200)
    expect(await chat('absent')).toBe(404)
    const liveStats = await watch.sample()
    if (fits(liveStats)) return liveStats
  }
}

const flows = ({ endpoints, models }: LiveStats) =>
  [endpoints.find(({ name }) => name === 'main'), models.find(({ name }) => name === 'chat')] as const

describe('a look with a token', () => {
  it('knows traffic, latency, health and rejections by their reason', async () => {
    const watch = await monitor({ metricsToken: TOKEN })
    const liveStats = await seen(watch, each =>
      flows(each).every(flow => (flow?.requestsPerSecond ?? 0) > 0 && (flow?.tokensPerSecond ?? 0) > 0),
    )
    const [endpoint, model] = flows(liveStats)
    expect(endpoint).toMatchObject({
      state: 'healthy',
      failed: 0,
      results: [['answered', expect.any(Number)]],
    })
    expect(model?.p95Ms).toBeGreaterThan(0)
    expect(liveStats.endpoints.find(({ name }) => name === 'off')?.state).toBe('disabled')
    expect(liveStats.rejections).toContainEqual(expect.objectContaining({ reason: 'model_not_found' }))
    expect(liveStats.gateways).toMatchObject([
      { state: 'ok', revision: 1, isBehind: false, url: gateway.gatewayUrl },
    ])
    expect(liveStats.notes).toEqual([])
  })

  it('says of a wrong one that it is wrong, and shows the rest', async () => {
    const watch = await monitor({ metricsToken: 'another' })
    const { gateways, notes } = await watch.sample()
    expect(gateways[0]?.state).toBe('ok')
    expect(notes[0]).toContain('METRICS_TOKEN differs')
    expect(JSON.stringify(notes)).not.toContain(TOKEN)
  })
})

describe('a look without a token', () => {
  it('knows traffic, latency and health from the store, and says what it cannot know', async () => {
    const watch = await monitor()
    const liveStats = await seen(watch, each => {
      const [endpoint, model] = flows(each)
      const isFlowing = (endpoint?.requestsPerSecond ?? 0) > 0 && (model?.requestsPerSecond ?? 0) > 0
      return isFlowing && endpoint?.state !== 'unknown'
    })
    const [endpoint, model] = flows(liveStats)
    expect(endpoint).toMatchObject({ state: 'healthy', failed: 0, sinceMs: expect.any(Number) })
    expect(model?.tokensPerSecond).toBeCloseTo((model?.requestsPerSecond ?? 0) * 50)
    expect(liveStats.rejections).toBeUndefined()
    expect(liveStats.notes[0]).toContain('METRICS_TOKEN')
  })
})

describe('keys', () => {
  it('are sorted by the limit that they are nearest to; one without limits comes last', async () => {
    const watch = await monitor()
    const { keys } = await seen(watch, ({ keys: [first] }) => (first?.limits[0]?.share ?? 0) > 0)
    expect(keys.map(({ name }) => name)).toEqual(['app', 'idle'])
    const limits = new Map(keys[0]?.limits.map(each => [each.limit, each]))
    expect(limits.get('quota')).toMatchObject({ of: '100000' })
    expect(limits.get('quota')?.share).toBeCloseTo(Number(limits.get('quota')?.used) / 100_000)
    expect(limits.get('budget/total')).toMatchObject({ of: '10000' })
    expect(keys[1]?.limits).toEqual([])
  })
})

describe('a gateway elsewhere', () => {
  it('is asked by its address alone, without a store', async () => {
    const watch = await monitor({ url: gateway.gatewayUrl, metricsToken: TOKEN, storeUrl: 'sqlite:none.db' })
    const liveStats = await watch.sample()
    expect(liveStats.gateways).toMatchObject([{ state: 'ok', revision: 1 }])
    expect(liveStats.endpoints.map(({ name }) => name)).toEqual(['main'])
    expect(liveStats.storeRevision).toBeUndefined()
  })

  it('that does not answer is silent', async () => {
    const watch = await monitor({ url: `http://127.0.0.1:${await freePort()}` })
    expect((await watch.sample()).gateways).toMatchObject([{ state: 'silent', revision: 0 }])
  })
})

describe('gw top and gw status', () => {
  const run = (words: readonly string[], environment = {}) =>
    gw([...words, '--store', gateway.store], { cwd: dir.path, clock: systemClock, environment })

  it('top prints a line for each look where no screen is', async () => {
    const { exit, stdout, stderr } = await run(['top', '--count', '2', '--interval', '100ms'])
    expect(exit).toBe(0)
    expect(stdout.split('\n')).toHaveLength(3)
    expect(stdout).toMatch(/^\S+Z {2}revision 1 {2}ok {2}\S+ req\/s {2}\S+ tok\/s {2}\d+ open/)
    expect(stderr).toContain('METRICS_TOKEN')
  })

  it('top prints an object a line with --format json', async () => {
    const { stdout } = await run(['top', '--count', '2', '--interval', '100ms', '--format', 'json'], {
      METRICS_TOKEN: TOKEN,
    })
    const lines = stdout.trimEnd().split('\n')
    expect(lines).toHaveLength(2)
    for (const line of lines) {
      expect(JSON.parse(line)).toMatchObject({ store_revision: 1, total: { rejected_per_second: 0 } })
    }
    expect(stdout).not.toContain(TOKEN)
  })

  it('status tells gateways, endpoints, and that nothing is wrong', async () => {
    const { exit, stdout } = await run(['status', '--exit-code'], { METRICS_TOKEN: TOKEN })
    expect(exit).toBe(0)
    expect(stdout).toMatch(/^Revision 1, /)
    expect(stdout).toMatch(/main {6}healthy[\s\S]*No problems\.\n$/)
    const asked = await run(['status', '--format', 'json'], { METRICS_TOKEN: TOKEN })
    expect(JSON.parse(asked.stdout)).toMatchObject({
      problems: [],
      revision: { id: 1 },
      resources: { endpoint: 2, publication: 1, binding: 1, key: 2 },
      gateways: [{ state: 'ok' }],
    })
  })

  it('status ends with 5 on demand where no gateway serves', async () => {
    const alone = tempDir(onTestFinished)
    alone.write(
      'gw.yaml',
      'version: 1\nendpoints:\n  a: { protocol: openai, base_url: http://127.0.0.1:1/v1, served_model: m }\n',
    )
    await gw(['apply', '--yes', '--skip-probe'], { cwd: alone.path })
    const shown = await gw(['status'], { cwd: alone.path })
    expect(shown.exit).toBe(0)
    expect(shown.stdout).toContain('! No gateway serves.')
    expect(shown.stderr).toContain('start one with `gw serve`')
    expect((await gw(['status', '--exit-code'], { cwd: alone.path })).exit).toBe(5)
  })

  it.each(['not a url', 'ftp://x', 'http://x/path', 'http://user@x'])('reject --gateway %s', async url => {
    expect((await run(['status', '--gateway', url])).exit).toBe(64)
  })
})

describe('endpoints that nothing was asked of', () => {
  it('are unknown, are counted, and are not said to be as they should be; an unhealthy one has its reason', async () => {
    const own = tempDir(onTestFinished)
    const [well, sick] = [await scriptedUpstream(onTestFinished), await scriptedUpstream(onTestFinished)]
    well.answer(json(ANSWER))
    sick.answer(json({}, { status: 500 }))
    const at = (name: string, url: string) =>
      `  ${name}: { protocol: openai, base_url: "${url}/v1", served_model: served }`
    const config = own.write(
      'gw.yaml',
      `version: 1
settings: { health: { unhealthy_after: 1 } }
endpoints:
${[at('well', well.url), at('sick', sick.url), at('new', well.url), at('newer', well.url)].join('\n')}
publications:
  well: { bindings: [{ endpoint: well }] }
  sick: { bindings: [{ endpoint: sick }] }
keys: { app: { kind: platform } }
`,
    )
    const fresh = await wholeGateway(onTestFinished, config, { METRICS_TOKEN: TOKEN })
    const key = await fresh.issue('app')
    const call = (model: string) =>
      fetch(`${fresh.gatewayUrl}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
        body: JSON.stringify({ model }),
      }).then(answer => answer.text())
    const status = async (environment = {}, more: readonly string[] = []) => {
      const words = ['status', '--store', fresh.store, ...more]
      return gw(words, { cwd: own.path, clock: systemClock, environment })
    }
    const atFirst = await status()
    expect(atFirst.stdout).toMatch(/well +unknown/)
    expect(atFirst.stdout).toMatch(
      /4 endpoints have not answered yet: `gw probe` tests them\.\nNo known problems\.\n$/,
    )
    expect(atFirst.stdout).not.toContain('No problems')
    expect(await (await fetch(`${fresh.gatewayUrl}/health`)).json()).toMatchObject({
      status: 'ok',
      endpoints: { healthy: 0, unhealthy: 0, unknown: 4 },
    })

    await call('well')
    await call('sick')
    for (const environment of [{}, { METRICS_TOKEN: TOKEN }]) {
      let shown = await status(environment)
      while (!/sick +unhealthy/.test(shown.stdout) || !/well +healthy/.test(shown.stdout))
        shown = await status(environment)
      expect(shown.stdout).toMatch(/new +unknown +- +-/)
      expect(shown.stdout).toMatch(/2 endpoints have not answered yet/)
      const listed = JSON.parse((await status(environment, ['--format', 'json'])).stdout) as object
      expect(listed).toMatchObject({
        unanswered: 2,
        endpoints: [
          { name: 'new', state: 'unknown', since: null, reason: null },
          { name: 'newer', state: 'unknown' },
          { name: 'sick', state: 'unhealthy', reason: 'sick answered 500', since: expect.any(String) },
          { name: 'well', state: 'healthy' },
        ],
      })
    }
    const scrape = await fetch(`${fresh.gatewayUrl}/metrics`, {
      headers: { authorization: `Bearer ${TOKEN}` },
    })
    expect((await scrape.text()).split('\n').filter(line => line.startsWith('gw_endpoint_healthy'))).toEqual([
      'gw_endpoint_healthy{endpoint="sick"} 0',
      'gw_endpoint_healthy{endpoint="well"} 1',
    ])
    const elsewhere = await status({}, ['--gateway', fresh.gatewayUrl])
    expect(elsewhere.stdout).toContain('2 endpoints have not answered yet')
  })
})

/** A gateway with its control plane, its administrator, and a key. */
async function ownGateway(environment: Readonly<Record<string, string>>) {
  const own = tempDir(onTestFinished)
  const config = own.write(
    'gw.yaml',
    `version: 1
settings: { currency: EUR }
endpoints: { main: { protocol: openai, base_url: "${upstream.url}/v1", served_model: served } }
publications: { chat: { bindings: [{ endpoint: main }] } }
keys: { app: { kind: platform } }
`,
  )
  const started = await wholeGateway(onTestFinished, config, { ...environment, GW_ADMIN_PASSWORD: PASSWORD })
  const key = await started.issue('app')
  const opened = await fetch(`${started.controlUrl}/api/v1/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username: 'admin', password: PASSWORD }),
  })
  const { token } = (await opened.json()) as { readonly token: string }
  return {
    ...started,
    cwd: own.path,
    ask: async (path: string): Promise<unknown> => {
      const headers = { authorization: `Bearer ${token}` }
      return (await fetch(`${started.controlUrl}/api/v1/${path}`, { headers })).json()
    },
    chat: async (model: string) => {
      upstream.answer(json(ANSWER))
      const answer = await fetch(`${started.gatewayUrl}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
        body: JSON.stringify({ model }),
      })
      await answer.text()
    },
  }
}

it.each([{}, { METRICS_TOKEN: TOKEN }])(
  'the control plane asks the gateway of its own process without a scrape: %j',
  async environment => {
    const { ask, chat, gatewayUrl } = await ownGateway(environment)
    await ask('pulse')
    await expect
      .poll(
        async () => {
          await Promise.all([chat('chat'), chat('absent')])
          return ask('pulse')
        },
        { timeout: 15_000 },
      )
      .toMatchObject({
        total: { rejected_per_second: expect.any(Number) as number },
        gateways: [{ state: 'ok', revision: 1, url: gatewayUrl }],
        endpoints: [
          {
            name: 'main',
            state: 'healthy',
            p95_ms: expect.any(Number),
            results: { answered: expect.any(Number) },
          },
        ],
        models: [{ name: 'chat', p95_ms: expect.any(Number) }],
        rejections: [{ reason: 'model_not_found' }],
        notes: [],
      })
    const scrape = await fetch(`${gatewayUrl}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } })
    expect(scrape.status).toBe('METRICS_TOKEN' in environment ? 200 : 404)
    expect(await scrape.text()).not.toContain('path="/metrics"')
  },
)

it('REST answers the status of a running gateway as `gw status` prints it', async () => {
  const environment = { METRICS_TOKEN: TOKEN }
  const { ask, store, cwd } = await ownGateway(environment)
  const answered = await ask('status')
  expect(answered).toMatchObject({ gateways: [{ state: 'ok', behind: false }], problems: [], notes: [] })
  const { stdout } = await gw(['status', '--store', store, '--format', 'json'], {
    cwd,
    clock: systemClock,
    environment,
  })
  expect(JSON.parse(stdout)).toEqual({ ...(answered as object), at: expect.any(String) })
})
