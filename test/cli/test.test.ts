import { readFileSync } from 'node:fs'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { type TempDir, tempDir } from '../support/temp-dir.ts'
import { testClock } from '../support/test-clock.ts'
import { EXAMPLE_CONFIG } from '../support/whole-gateway.ts'
import { gw } from './in-process.ts'

const TREE = `version: 1
nodes:
  gpu-1: { labels: { pool: a } }
  gpu-2: { labels: { pool: a }, engines: [vllm] }
endpoints:
  qwen: { protocol: openai, served_model: qwen, nodes: { labels: { pool: a }, engine: vllm } }
  openai: { protocol: openai, base_url: "http://127.0.0.1:9/v1", served_model: gpt }
  azure: { protocol: openai, base_url: "http://127.0.0.1:9/v1", served_model: gpt }
  spare: { protocol: openai, base_url: "http://127.0.0.1:9/v1", served_model: gpt }
  claude: { protocol: anthropic, base_url: "http://127.0.0.1:9/v1", served_model: claude }
publications:
  chat:
    price: [{ input: "1", output: "2" }, { from: 2026-02-01T00:00:00Z, input: "3", output: "4" }]
    bindings: [{ endpoint: openai, weight: 3 }, { endpoint: azure }, { endpoint: spare, priority: 1 }]
  voice: { price: { per_second: "0.001", per_character: "0.000555", per_image: "0.4" }, bindings: [{ endpoint: openai }] }
  sonnet: { bindings: [{ endpoint: claude }] }
  qwen: { bindings: [{ endpoint: qwen }, { endpoint: spare, priority: 1 }] }
tenants:
  blue: { limits: { tpm: 5000 } }
  empty: {}
keys:
  admin: { kind: platform }
  app: { kind: tenant, tenant: blue, models: [chat], budget: { amount: "0.01", per: day } }
  web: { kind: tenant, tenant: blue, models: [chat, sonnet], expires_at: 2026-06-01T00:00:00Z }
`

let dir: TempDir
const run = (line: string, world: Partial<Parameters<typeof gw>[1]> = {}) =>
  gw(line.split(' '), { cwd: dir.path, clock: testClock(), ...world })
const tests = (...lines: readonly string[]) =>
  dir.write('gw.test.yaml', `version: 1\ntests:\n${lines.map(line => `  - ${line}\n`).join('')}`)

beforeEach(() => {
  dir = tempDir(onTestFinished)
  dir.write('gw.yaml', TREE)
})

describe('a test of a configuration holds or fails:', () => {
  it.each([
    ['{ key: app, may_call: chat }', undefined],
    ['{ key: app, may_call: sonnet }', 'key app: 403 model_not_allowed'],
    ['{ tenant: blue, may_call: chat }', undefined],
    ['{ tenant: blue, may_call: sonnet }', 'key app: 403 model_not_allowed'],
    ['{ tenant: empty, may_call: chat }', 'tenant empty has no keys'],
    ['{ key: app, may_not_call: sonnet }', undefined],
    ['{ key: app, may_not_call: sonnet, because: model_not_allowed, status: 403 }', undefined],
    ['{ key: app, may_not_call: sonnet, because: model_banned }', 'key app: 403 model_not_allowed'],
    ['{ key: app, may_not_call: sonnet, status: 404 }', 'key app: 403 model_not_allowed'],
    ['{ key: app, may_not_call: chat }', 'key app: served by azure, openai'],
    [
      '{ key: app, model: chat, max_tokens: 100000, is_rejected: { status: 429, code: budget_exceeded } }',
      undefined,
    ],
    ['{ key: app, model: chat, max_tokens: 10, is_rejected: { status: 429 } }', 'served by'],
    ['{ key: web, may_call: sonnet, at: 2026-05-31T23:59:59Z }', undefined],
    ['{ key: web, may_call: sonnet, at: 2026-06-01T00:00:00Z }', '401 invalid_api_key'],
    ['{ key: web, may_call: sonnet, path: /v1/chat/completions }', '404 wrong_protocol'],
    ['{ model: chat, routes_to: [openai, azure, spare] }', undefined],
    ['{ model: qwen, routes_to: [qwen, spare] }', undefined],
    ['{ model: qwen, routes_to: [qwen on gpu-2, qwen on gpu-1, spare] }', undefined],
    ['{ model: qwen, nodes: { gpu-2: {} }, routes_to: [qwen on gpu-2, spare] }', undefined],
    ['{ model: qwen, nodes: {}, routes_to: [spare] }', undefined],
    ['{ model: qwen, nodes: { gpu-1: { draining: true } }, routes_to: [qwen, spare] }', 'routes to spare'],
    [
      '{ model: qwen, nodes: { gpu-1: { engines: [tgi] }, gpu-2: {} }, routes_to: [qwen on gpu-2, spare] }',
      undefined,
    ],
    [
      '{ model: qwen, nodes: { gpu-7: { labels: { pool: a } } }, routes_to: [qwen, spare] }',
      'there is no node gpu-7',
    ],
    ['{ model: qwen, routes_to: [qwen on gpu-3, spare] }', 'there is no node gpu-3'],
    ['{ model: chat, routes_to: [azure, openai, spare] }', undefined],
    ['{ model: chat, routes_to: [spare, openai, azure] }', 'routes to azure or openai, then spare'],
    ['{ model: chat, routes_to: [openai, azure] }', 'routes to azure or openai, then spare'],
    ['{ model: chat, down: [openai, azure], routes_to: [spare] }', undefined],
    ['{ model: chat, down: [openai, azure, spare], routes_to: [] }', undefined],
    ['{ key: admin, model: chat, down: [openai, azure, spare], is_rejected: { status: 503 } }', undefined],
    ['{ key: app, model: sonnet, routes_to: [claude] }', 'key app: 403 model_not_allowed'],
    ['{ model: chat, usage: { input: 1000, output: 500 }, costs: "0.002" }', undefined],
    ['{ model: chat, usage: { input: 1000, output: 500 }, costs: 0.0021 }', 'costs 0.002'],
    [
      '{ model: chat, at: 2026-02-01T00:00:00Z, usage: { input: 1000, output: 500 }, costs: "0.005" }',
      undefined,
    ],
    ['{ model: sonnet, usage: { input: 1000 }, costs: "1" }', 'costs 0 (no price)'],
    [
      '{ model: voice, usage: { duration_ms: 12345, characters: 2, images: 3 }, costs: "1.213455" }',
      undefined,
    ],
    [
      '{ model: voice, usage: { duration_ms: 12346, characters: 2, images: 3 }, costs: "1" }',
      'costs 1.213456',
    ],
    // A misspelt name would make these hold for ever.
    ['{ key: app, may_not_call: sonet }', 'there is no publication sonet; did you mean sonnet?'],
    ['{ key: app, may_not_call: o9, because: model_not_found }', undefined],
    ['{ key: ap, may_not_call: sonnet }', 'there is no key ap; did you mean app?'],
    ['{ tenant: blu, may_not_call: sonnet }', 'there is no tenant blu; did you mean blue?'],
    [
      '{ model: chat, down: [azur], routes_to: [openai, spare] }',
      'there is no endpoint azur; did you mean azure?',
    ],
  ])('%s', async (line, actual) => {
    tests(line)
    const { exit, stdout } = await run('test --format json')
    const [result] = JSON.parse(stdout).tests
    expect(result).toMatchObject({ file: 'gw.test.yaml', line: 3, ok: actual === undefined })
    if (actual !== undefined) expect(result.actual).toContain(actual)
    expect(exit).toBe(actual === undefined ? 0 : 4)
  })
})

describe('gw test', () => {
  const MIXED = [
    '{ name: "the app <may> chat", key: app, may_call: chat }',
    '{ key: app, may_call: sonnet }',
    '{ model: chat, usage: { input: 1000 }, costs: "2" }',
  ]

  it.each(['text', 'json', 'junit', 'github'])('reports as %s', async format => {
    tests(...MIXED)
    const { exit, stdout, stderr } = await run(`test --format ${format}`)
    expect(exit).toBe(4)
    expect(stderr).toBe(
      format === 'json'
        ? ''
        : 'error GW4020: 2 tests of 3 failed.\n  hint: Correct the configuration or the test that the failures name.\n',
    )
    await expect(stdout).toMatchFileSnapshot(`golden/test-failed.${format}.txt`)
  })

  it('writes the report to a file, and the text where a person looks', async () => {
    tests(...MIXED)
    const { stdout } = await run('test --format junit -o report.xml')
    expect(stdout).toContain('3 tests: 1 passed, 2 failed.')
    const xml = readFileSync(dir.at('report.xml'), 'utf8')
    expect(xml).toBe((await run('test --format junit')).stdout)
    expect(xml).toContain('name="the app &lt;may&gt; chat"')
  })

  it('finds the tests of a directory, which are no configuration', async () => {
    dir.write('config/gw.yaml', TREE)
    dir.write('config/teams/blue.test.yaml', 'version: 1\ntests: [{ key: app, may_call: chat }]\n')
    expect((await run('validate -c config')).exit).toBe(0)
    const { exit, stdout } = await run('test -c config')
    expect(exit).toBe(0)
    await expect(stdout).toMatchFileSnapshot('golden/test-passed.txt')
  })

  it('names every problem of a file of tests with its line, and ends with 3', async () => {
    tests(
      '{ key: app }',
      '{ key: app, may_call: chat, may_not_call: sonnet }',
      '{ key: app, may_call: chat, status: 403 }',
      '{ may_call: chat }',
      '{ key: app, may_not_call: chat, because: model_not_alowed }',
      '{ model: chat, costs: "0.1" }',
      '{ key: app, mai_call: chat }',
      'may_call',
    )
    const { exit, stdout, stderr } = await run('test')
    expect({ exit, stdout }).toEqual({ exit: 3, stdout: '' })
    await expect(stderr).toMatchFileSnapshot('golden/test-invalid.stderr.txt')
  })

  it.each([
    ['test', 'gw.test.yaml', 'GW1001'],
    ['test -c folder', 'folder', 'GW1002'],
    ['test missing.yaml', 'missing.yaml', 'GW1001'],
    ['test gw.yaml', 'gw.yaml', 'GW1203'],
  ])(
    '%s: without tests it fails, for a CI that passes by accident is worse than none',
    async (line, file, code) => {
      dir.write('folder/gw.yaml', TREE)
      const { exit, stdout } = await run(`${line} --format json`)
      expect(exit).toBe(3)
      const [problem] = JSON.parse(stdout).error.problems
      expect(problem).toMatchObject({ code, file })
    },
  )

  it('reads the examples of the documents', async () => {
    for (const page of ['README.md', 'docs/troubleshooting.md']) {
      const text = readFileSync(new URL(`../../${page}`, import.meta.url), 'utf8')
      const [, example] = /```yaml\n((?:#.*\n)?version: 1\ntests:[\s\S]*?)```/.exec(text) ?? []
      dir.write('gw.test.yaml', example ?? '')
      const { stdout } = await run('test --format json')
      expect(JSON.parse(stdout).tests.length, page).toBeGreaterThan(1)
    }
  })

  it('passes on config.example', async () => {
    const { exit, stdout } = await run(`test -c ${EXAMPLE_CONFIG} --format json`)
    expect({ exit, failed: JSON.parse(stdout).failed }).toEqual({ exit: 0, failed: 0 })
  })
})
