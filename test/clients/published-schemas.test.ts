import { afterAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/random.ts'
import { startDemoUpstream } from '../../src/demo/server.ts'
import { forward } from '../support/forward.ts'
import { JUDGED_PATHS, type JudgedRequest, judge } from '../support/openai-judge.ts'
import type { RecordedRequest } from '../support/recorded-request.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'
import { EXAMPLE_CONFIG, wholeGateway } from '../support/whole-gateway.ts'
import { type Door, GENERATIONS } from './door.ts'
import { OPENAI_CALLS } from './openai.ts'

/**
 * What OpenAI's published document says of a request where the client sends it, it says of what the upstream gets:
 *
 *     SDK ──▶ recorder, judge ──▶ gateway ──▶ scripted upstream, judge ──▶ demo (answers)
 */
const demo = await startDemoUpstream({
  host: '127.0.0.1',
  port: 0,
  paceMs: 0,
  clock: systemClock,
  random: systemRandom,
})
afterAll(() => demo.close())
const upstream = await scriptedUpstream(afterAll)
upstream.answer(forward(demo.url))
const gateway = await wholeGateway(afterAll, EXAMPLE_CONFIG, { GW_DEMO_URL: upstream.url })
const key = await gateway.issue('platform-test')

interface Judged {
  readonly path: string
  readonly atClient: readonly string[]
  readonly atUpstream: readonly string[]
}

/** Requests that came to the upstream, of those that are judged. */
const judged: Judged[] = []
const recorder = await scriptedUpstream(afterAll)
recorder.answer(async exchange => {
  const atClient = await judge(asJudged(exchange.request))
  const before = upstream.requests.length
  await forward(gateway.gatewayUrl)(exchange)
  const [arrived] = upstream.requests.slice(before)
  if (atClient === undefined || arrived === undefined) return
  const atUpstream = await judge(asJudged(arrived))
  if (atUpstream === undefined) throw new Error(`no schema of ${arrived.target}`)
  judged.push({ path: exchange.request.path, atClient, atUpstream })
})

function asJudged(request: RecordedRequest): JudgedRequest {
  const { method, path, body } = request
  return { method, path, contentType: request.header('content-type') ?? '', body }
}

const door: Omit<Door, 'sdks'> = {
  url: recorder.url,
  key,
  models: {
    chat: 'chat',
    messages: 'claude-demo',
    embedding: 'text-embedding-demo',
    rerank: 'rerank-demo',
  },
}

describe.each(GENERATIONS)("what the gateway makes of the OpenAI SDK's requests, $generation", sdks => {
  const judgedPaths = new Set<string>()

  it.each(OPENAI_CALLS)('is valid as the request was: $title', async call => {
    judged.length = 0
    await call.run({ ...door, sdks })
    for (const { path, atClient, atUpstream } of judged) {
      expect({ path, faults: atUpstream }).toEqual({ path, faults: atClient })
      if (atClient.length === 0) judgedPaths.add(path)
    }
  })

  it('was valid on every path that the SDK calls', () => {
    const notCalled = ['/v1/responses/compact', '/v1/responses/input_tokens']
    expect([...judgedPaths, ...notCalled].sort()).toEqual([...JUDGED_PATHS].sort())
  })
})

describe('the judge', () => {
  const json = (path: string, body: object) =>
    judge({ method: 'POST', path, contentType: 'application/json', body: Buffer.from(JSON.stringify(body)) })

  it.each([
    ['/v1/chat/completions', { model: 'm', messages: 'hi' }, '/messages must be array'],
    ['/v1/chat/completions', { model: 'm', messages: [{ role: 'user' }] }, "required property 'content'"],
    ['/v1/responses', { model: 'm', input: 1 }, '/input must be string'],
    ['/v1/responses', { model: 'm', input: 'hi', models: [] }, 'models'],
    ['/v1/responses', { model: 'm', input: 'hi', stream: null, max_output_tokens: 1 }, '/max_output_tokens'],
    ['/v1/audio/speech', { model: 'm', voice: 'alloy' }, "required property 'input'"],
  ])('says what is wrong on %s with %j', async (path, body, fault) => {
    expect((await json(path, body))?.join()).toContain(fault)
  })

  it.each([
    [{ model: 'm', file: new File(['x'], 'a.mp3'), temperature: '0.5' }, ''],
    [{ model: 'm' }, "required property 'file'"],
    [{ file: new File(['x'], 'a.mp3') }, "required property 'model'"],
    [{ model: 'm', file: new File(['x'], 'a.mp3'), temperature: 'hot' }, '/temperature must be number'],
  ])('reads forms: %#', async (fields, fault) => {
    const form = new FormData()
    for (const [name, value] of Object.entries(fields)) form.append(name, value)
    const encoded = new Response(form)
    const faults = await judge({
      method: 'POST',
      path: '/v1/audio/transcriptions',
      contentType: encoded.headers.get('content-type') ?? '',
      body: new Uint8Array(await encoded.arrayBuffer()),
    })
    if (fault === '') expect(faults).toEqual([])
    else expect(faults?.join()).toContain(fault)
  })

  it('takes no body of a type that the path does not have', async () => {
    expect(await json('/v1/audio/transcriptions', { model: 'm' })).toEqual([
      'the content type application/json is not one of /audio/transcriptions',
    ])
  })
})
