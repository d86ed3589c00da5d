import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { mintKey } from '../../src/base/api-key.ts'
import { systemRandom } from '../../src/base/random.ts'
import { rawClient } from '../gateway/raw-client.ts'
import { hasPromtool } from '../metering/promtool.ts'
import { readScrape, type Scraped } from '../metering/scraped.ts'
import { json, sse } from '../support/answers.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'
import { tempDir } from '../support/temp-dir.ts'
import { wholeGateway } from '../support/whole-gateway.ts'

const TOKEN = 'a-token-of-the-operator'
const CHAT = '/v1/chat/completions'

const upstream = await scriptedUpstream(afterAll)
const dir = tempDir(afterAll)
const config = (models: readonly string[], file = 'gw.yaml') =>
  dir.write(
    file,
    `
version: 1
endpoints:
  main: { protocol: openai, base_url: "${upstream.url}/v1", served_model: served }
  spare: { protocol: openai, base_url: "${upstream.url}/v1", served_model: served, enabled: false }
publications:
${models.map(model => `  ${model}: { bindings: [{ endpoint: main }], price: { input: 1, output: 10 } }`).join('\n')}
keys:
  admin: { kind: platform }
`,
  )

const gateway = await wholeGateway(afterAll, config(['one', 'two']), { METRICS_TOKEN: ` ${TOKEN}\n` })
const key = await gateway.issue('admin')

const ask = (path: string, bearer: string | undefined, init: RequestInit = {}): Promise<Response> =>
  fetch(gateway.gatewayUrl + path, {
    ...init,
    ...(bearer !== undefined && { headers: { authorization: `Bearer ${bearer}` } }),
  })

const chat = async (model: string, bearer = key, more = {}): Promise<Response> => {
  const answer = await ask(CHAT, bearer, { method: 'POST', body: JSON.stringify({ model, ...more }) })
  await answer.text()
  return answer
}

async function scrape(): Promise<Scraped> {
  const answer = await ask('/metrics', TOKEN)
  expect(answer.status).toBe(200)
  return readScrape(await answer.text())
}

/** What was sent is counted when its request has been recorded, which is behind its last byte. */
async function scrapeWith(fits: (scraped: Scraped) => boolean): Promise<Scraped> {
  for (;;) {
    const scraped = await scrape()
    if (fits(scraped)) return scraped
  }
}

const requests = ({ samples }: Scraped): number =>
  samples.filter(({ name }) => name === 'gw_requests_total').reduce((sum, { value }) => sum + value, 0)

const seriesOf = ({ samples }: Scraped): string[] =>
  samples.map(({ name, labels }) => `${name} ${JSON.stringify(labels)}`)

describe('GET /metrics', () => {
  it('answers each bearer of the token, in the text format, and is neither logged nor counted', async () => {
    const logged = gateway.log.length
    const before = requests(await scrape())
    const answer = await ask('/metrics?name=gw_requests_total', TOKEN)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    expect(answer.headers.get('cache-control')).toBe('no-store')
    const text = await answer.text()
    expect(text).toContain('\ngw_build_info{version="0.0.0",node=')
    expect(answer.headers.get('content-length')).toBe(String(Buffer.byteLength(text)))
    expect(requests(await scrape())).toBe(before)
    expect(gateway.log.slice(logged).filter(line => line.includes('/metrics'))).toEqual([])
  })

  it('answers HEAD with the head alone', async () => {
    const answer = await ask('/metrics', TOKEN, { method: 'HEAD' })
    expect(answer.status).toBe(200)
    expect(Number(answer.headers.get('content-length'))).toBeGreaterThan(1_000)
    expect(await answer.text()).toBe('')
  })

  it.each([
    ['nothing', undefined],
    ['a wrong token', `${TOKEN}r`],
    ['a part of the token', TOKEN.slice(0, -1)],
    ['a key of the configuration', key],
  ])('rejects %s with 401, says so in the log and names no token', async (_what, bearer) => {
    const line = gateway.logged('not the metrics token')
    const answer = await ask('/metrics', bearer)
    expect(answer.status).toBe(401)
    expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="metrics"')
    expect(await answer.json()).toMatchObject({ error: { message: 'Incorrect metrics token provided.' } })
    expect(await line).not.toContain(TOKEN)
  })

  it('rejects two authorization lines, whichever is right', async () => {
    const client = await rawClient(onTestFinished, gateway.gatewayUrl)
    const lines = ['x', TOKEN].map(token => `authorization: Bearer ${token}\r\n`).join('')
    await client.write(`GET /metrics HTTP/1.1\r\nhost: gw\r\n${lines}\r\n`)
    expect((await client.answer()).status).toBe(401)
  })

  it('allows no other method', async () => {
    const answer = await ask('/metrics', TOKEN, { method: 'POST' })
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  })

  it('has a token that opens nothing else', async () => {
    expect((await chat('one', TOKEN)).status).toBe(401)
    expect((await ask('/v1/models', TOKEN)).status).toBe(401)
  })

  it.each([{}, { METRICS_TOKEN: '' }, { METRICS_TOKEN: ' \n' }])(
    'is a path like any unknown one where the token is %j',
    async environment => {
      const closed = await wholeGateway(onTestFinished, config(['one'], 'closed.yaml'), environment)
      for (const authorization of ['Bearer ', 'Bearer undefined', `Bearer ${TOKEN}`]) {
        const answer = await fetch(`${closed.gatewayUrl}/metrics`, { headers: { authorization } })
        expect(answer.status).toBe(404)
        expect(await answer.json()).toMatchObject({ error: { code: 'unknown_path' } })
      }
    },
  )
})

describe('what it says', () => {
  it('follows a call, a stream and a rejection over the wire', async () => {
    const usage = { prompt_tokens: 100, completion_tokens: 20 }
    upstream.answerNext(json({ model: 'served', usage }))
    expect((await chat('one')).status).toBe(200)
    upstream.answerNext(sse([`data: ${JSON.stringify({ choices: [], usage })}\n\n`, 'data: [DONE]\n\n']))
    expect((await chat('one', key, { stream: true })).status).toBe(200)
    expect((await chat('three')).status).toBe(404)

    const call = { path: CHAT, model: 'one', endpoint: 'main' }
    const { value } = await scrapeWith(
      ({ value }) =>
        value('gw_requests_total', { ...call, status: '200' }) === 2 &&
        value('gw_rejections_total', { path: CHAT, reason: 'model_not_found' }) === 1,
    )
    expect(value('gw_tokens_total', { ...call, class: 'input' })).toBe(200)
    expect(value('gw_cost_total', call)).toBe(0.0006)
    expect(value('gw_overhead_seconds_count', { path: CHAT })).toBe(2)
    expect(value('gw_time_to_first_byte_seconds_count', { ...call, stream: 'true' })).toBe(1)
    expect(value('gw_upstream_attempts_total', { endpoint: 'main', result: 'answered' })).toBe(2)
    expect(value('gw_requests_in_flight')).toBe(1)
    expect(value('gw_holds_open')).toBe(0)
    expect(value('gw_connections_open')).toBeGreaterThan(0)
    expect(value('gw_health_reason', { reason: 'reload_rejected' })).toBe(0)
    expect(value('gw_config_revision')).toBe(1)
    expect(value('gw_config_last_reload_successful')).toBe(1)
    expect(value('gw_endpoint_healthy', { endpoint: 'main' })).toBe(1)
    expect(value('gw_endpoint_healthy', { endpoint: 'spare' })).toBeUndefined()
  })

  it('tells an account without money from a rate limit', async () => {
    const error = { message: 'You exceeded your current quota', code: 'insufficient_quota' }
    upstream.answerNext(
      json({ error }, { status: 429 }),
      json({ error: { message: 'slow down' } }, { status: 429 }),
    )
    expect([(await chat('one')).status, (await chat('one')).status]).toEqual([502, 429])
    const attempts = (result: string) => ({ endpoint: 'main', result })
    const { value } = await scrapeWith(
      ({ value }) => value('gw_upstream_attempts_total', attempts('upstream_rate_limited')) === 1,
    )
    expect(value('gw_upstream_attempts_total', attempts('upstream_unpaid'))).toBe(1)
    expect(value('gw_upstream_attempts_total', attempts('upstream_credentials'))).toBeUndefined()
  })

  it.runIf(hasPromtool())('is as promtool wants it', async () => {
    const input = await (await ask('/metrics', TOKEN)).text()
    expect(execFileSync('promtool', ['check', 'metrics'], { input, stdio: 'pipe' }).toString()).toBe('')
  })

  it('has no series more after random models, paths and keys', async () => {
    const unknown = 150
    const word = () => randomBytes(6).toString('hex')
    const visit = async (salt: string) => {
      await chat(`model-${salt}`)
      await chat('one', mintKey(systemRandom))
      await (await ask(`/v1/models/${salt}`, key)).text()
      await (await ask(`/${salt}`, `not-a-key-${salt}`)).text()
    }
    await visit('first')
    const first = requests(await scrape())
    const before = await scrapeWith(scraped => requests(scraped) >= first)
    for (let each = 0; each < unknown; each++) await visit(word())
    const after = await scrapeWith(scraped => requests(scraped) >= first + 4 * unknown)
    expect(seriesOf(after)).toEqual(seriesOf(before))
  })

  it('forgets a model that the configuration drops', async () => {
    upstream.answerNext(json({ model: 'served' }))
    await chat('two')
    await scrapeWith(({ value }) => value('gw_requests_total', { model: 'two' }) === 1)
    const served = gateway.reloaded()
    await gateway.apply(config(['one']))
    await served
    const { samples, value } = await scrape()
    expect(samples.filter(({ labels: { model } }) => model === 'two')).toEqual([])
    expect(value('gw_config_revision')).toBe(2)
  })
})
