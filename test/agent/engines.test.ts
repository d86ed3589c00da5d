import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { checkEngine, followEngine, loadOf } from '../../src/agent/engine.ts'
import { discoverEngines, engineAddress } from '../../src/agent/engine-addresses.ts'
import { reply, silence } from '../support/answers.ts'
import { freePort } from '../support/free-port.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'

/** Pages of engines, in the form that their sources give them. */
interface Engine {
  readonly kind: string | undefined
  readonly pages: Readonly<Record<string, string>>
  readonly models: readonly string[]
  readonly load?: object
}

const list = (id: string, owner: string, more: object = {}) =>
  JSON.stringify({ object: 'list', data: [{ id, object: 'model', created: 1, owned_by: owner, ...more }] })

/** Of `llama-server` 0.5.0-dev (0c1e570). */
const recorded = (name: string): string =>
  readFileSync(join(import.meta.dirname, 'recorded/llama.cpp-0.5.0', name), 'utf8')

const ENGINES: Record<string, Engine> = {
  vLLM: {
    kind: 'vllm',
    models: ['Qwen/Qwen3-32B'],
    pages: {
      '/v1/models': list('Qwen/Qwen3-32B', 'vllm', { root: 'Qwen/Qwen3-32B', max_model_len: 40_960 }),
      '/metrics': `# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="Qwen/Qwen3-32B"} 3.0
vllm:num_requests_running{engine="1",model_name="Qwen/Qwen3-32B"} 2.0
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{engine="0",model_name="Qwen/Qwen3-32B"} 4.0
vllm:num_requests_waiting{engine="1",model_name="Qwen/Qwen3-32B"} 0.0
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{engine="0",model_name="Qwen/Qwen3-32B"} 0.7125
vllm:kv_cache_usage_perc{engine="1",model_name="Qwen/Qwen3-32B"} 0.5
vllm:num_requests_waiting_by_reason{reason="capacity"} 9.0
`,
    },
    load: { running: 5, waiting: 4, cache: 0.7125 },
  },
  'vLLM before 0.10': {
    kind: 'vllm',
    models: ['m'],
    pages: {
      '/v1/models': list('m', 'vllm'),
      '/metrics':
        'vllm:num_requests_running{model_name="m"} 1.0\nvllm:num_requests_waiting{model_name="m"} 0.0\nvllm:gpu_cache_usage_perc{model_name="m"} 0.02\n',
    },
    load: { running: 1, waiting: 0, cache: 0.02 },
  },
  SGLang: {
    kind: 'sglang',
    models: ['m'],
    pages: {
      '/v1/models': list('m', 'sglang', { root: 'm', max_model_len: 4_096 }),
      '/metrics':
        'sglang:num_running_reqs{model_name="m",tp_rank="0"} 8.0\nsglang:num_queue_reqs{model_name="m",tp_rank="0"} 4.0\nsglang:token_usage{model_name="m",tp_rank="0"} 0.52\n',
    },
    load: { running: 8, waiting: 4, cache: 0.52 },
  },
  'llama.cpp': {
    kind: 'llama.cpp',
    models: ['gemma-4-E4B'],
    pages: {
      '/v1/models': list('gemma-4-E4B', 'llamacpp', { meta: { n_ctx: 16_384 } }),
      '/metrics':
        '# TYPE llamacpp:requests_processing gauge\nllamacpp:requests_processing 4\n# TYPE llamacpp:requests_deferred gauge\nllamacpp:requests_deferred 46\n',
    },
    load: { running: 4, waiting: 46 },
  },
  'llama.cpp, as recorded': {
    kind: 'llama.cpp',
    models: ['tiny-random'],
    pages: {
      '/v1/models': recorded('models.http').split('\r\n\r\n', 2)[1] ?? '',
      '/metrics': recorded('metrics.txt'),
    },
    load: { running: 4, waiting: 8 },
  },
  TGI: {
    kind: 'tgi',
    models: ['HuggingFaceH4/zephyr-7b-beta'],
    pages: {
      '/v1/models': list('HuggingFaceH4/zephyr-7b-beta', 'HuggingFaceH4/zephyr-7b-beta'),
      '/info': '{"model_id":"HuggingFaceH4/zephyr-7b-beta","max_concurrent_requests":128,"version":"3.3.4"}',
      '/metrics':
        '# TYPE tgi_batch_current_size gauge\ntgi_batch_current_size 4\n# TYPE tgi_queue_size gauge\ntgi_queue_size 7\n',
    },
    load: { running: 4, waiting: 7 },
  },
  Ollama: {
    kind: 'ollama',
    models: ['llama3.2:latest'],
    pages: { '/v1/models': list('llama3.2:latest', 'library'), '/api/version': '{"version":"0.12.3"}' },
  },
  'Ollama with a model of another namespace': {
    kind: 'ollama',
    models: ['hf.co/bartowski/m:Q4'],
    pages: {
      '/v1/models': list('hf.co/bartowski/m:Q4', 'bartowski'),
      '/api/version': '{"version":"0.12.3"}',
    },
  },
  'LM Studio': {
    kind: 'lm-studio',
    models: ['qwen2-vl-7b-instruct'],
    pages: {
      '/v1/models': list('qwen2-vl-7b-instruct', 'organization_owner'),
      '/api/v0/models': '{"object":"list","data":[]}',
    },
  },
  'LM Studio, without owners': {
    kind: 'lm-studio',
    models: ['m'],
    pages: { '/v1/models': list('m', ''), '/api/v0/models': '{"object":"list","data":[]}' },
  },
  'an engine that is not known': {
    kind: undefined,
    models: ['m'],
    pages: { '/v1/models': list('m', 'me'), '/metrics': 'requests_running 3\n' },
  },
}

async function started(pages: Readonly<Record<string, string>>) {
  const upstream = await scriptedUpstream(onTestFinished)
  upstream.answer(exchange => {
    const body = pages[exchange.request.target]
    return reply(body === undefined ? { status: 404 } : { body })(exchange)
  })
  return upstream
}

test.each(Object.entries(ENGINES))(
  '%s is known by its pages',
  async (_title, { kind, pages, models, load }) => {
    const { port, url } = await started(pages)
    const address = { name: 'e', host: '127.0.0.1', port }
    expect(await checkEngine(address)).toEqual({ name: 'e', state: 'up', ...(kind && { kind }), models })
    expect(await loadOf(address)).toEqual(load)
    expect(await engineAddress(url, false)).toMatchObject({ name: kind ?? 'engine', port })
  },
)

test('discovery offers known engines by their kind, and two of a kind by their ports', async () => {
  const pagesOf = (title: string) => ENGINES[title]?.pages ?? {}
  const vllm = await started(pagesOf('vLLM'))
  const another = await started(pagesOf('vLLM before 0.10'))
  const ollama = await started(pagesOf('Ollama'))
  const unknown = await started(pagesOf('an engine that is not known'))
  const ports = [vllm.port, await freePort(), another.port, unknown.port, ollama.port]
  expect(await discoverEngines(ports)).toEqual([
    { name: 'vllm', host: '127.0.0.1', port: vllm.port },
    { name: `vllm-${another.port}`, host: '127.0.0.1', port: another.port },
    { name: 'ollama', host: '127.0.0.1', port: ollama.port },
  ])
})

test('an engine that stays up is asked for its kind once', async () => {
  const upstream = await started(ENGINES['an engine that is not known']?.pages ?? {})
  const address = { name: 'e', host: '127.0.0.1', port: upstream.port }
  const first = await followEngine(address)
  await followEngine(address, first)
  expect(upstream.requests.map(({ target }) => target)).toEqual([
    '/v1/models',
    '/info',
    '/api/v0/models',
    '/api/version',
    '/v1/models',
  ])
})

test('an engine under load may be late twice; one that accepts no connection is down at once', async () => {
  const upstream = await started(ENGINES['vLLM']?.pages ?? {})
  const address = { name: 'e', host: '127.0.0.1', port: upstream.port }
  const up = await followEngine(address)
  upstream.answer(silence)
  const once = await followEngine(address, up)
  const twice = await followEngine(address, once)
  expect([up, once, twice].map(({ offered, late }) => `${offered.state} ${late}`)).toEqual([
    'up 0',
    'up 1',
    'up 2',
  ])
  expect((await followEngine(address, twice)).offered.state).toBe('down')
  await upstream.close()
  expect((await followEngine(address, up)).offered.state).toBe('down')
}, 20_000)

test.each([
  ['no JSON', '<html>'],
  ['another document', '{"error":"loading model"}'],
  ['models that are no list', '{"data":{}}'],
])('an engine that answers with %s is down', async (_title, body) => {
  const { port } = await started({ '/v1/models': body })
  const down = { name: 'e', state: 'down', models: [] }
  expect(await checkEngine({ name: 'e', host: '127.0.0.1', port })).toEqual(down)
})

test.each([
  ['http://10.0.0.1:8000', 'is not this machine'],
  ['http://127.0.0.1:8000/v1', 'without a path'],
  ['https://127.0.0.1:8000', 'no address of an engine'],
  ['Big=http://127.0.0.1:8000', 'lower-case letters'],
])('--engine %s is rejected', async (text, reason) => {
  await expect(engineAddress(text, false)).rejects.toThrow(reason)
})
