import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { type TempDir, tempDir } from '../support/temp-dir.ts'
import { type TestClock, testClock } from '../support/test-clock.ts'
import { gw } from './in-process.ts'
import { billed, NOON_MS, write } from './traffic.ts'

const TREE = `version: 1
endpoints:
  openai: { protocol: openai, base_url: "http://127.0.0.1:9/v1", served_model: gpt }
  azure: { protocol: openai, base_url: "http://127.0.0.1:9/v1", served_model: gpt, max_concurrency: 4 }
  spare: { protocol: openai, base_url: "http://127.0.0.1:9/v1", served_model: gpt, enabled: false }
  claude: { protocol: anthropic, base_url: "http://127.0.0.1:9/v1", served_model: claude }
publications:
  fast-chat:
    price: { input: "1", output: "2" }
    max_output_tokens: 1000
    bindings:
      - { endpoint: openai, weight: 3 }
      - { endpoint: azure }
      - { endpoint: spare, priority: 1 }
  sonnet: { bindings: [{ endpoint: claude }] }
  soon: { status: draft }
  parked: { bindings: [{ endpoint: spare }] }
tenants:
  blue:
    models: ["*"]
    banned_models: ["so*"]
    limits: { rpm: 100 }
  paid: { billing: prepaid }
keys:
  admin: { kind: platform }
  app:
    kind: tenant
    tenant: blue
    models: ["fast-*", parked, sonnet]
    limits: { rpm: 60, concurrency: 2 }
    quota: 100000
    budget: { amount: "5", per: day }
  narrow: { kind: tenant, tenant: blue, models: [sonnet] }
  old: { kind: platform, expires_at: 2025-12-31T00:00:00Z }
  buyer: { kind: tenant, tenant: paid }
`

const ON_NODES = `version: 1
nodes:
  gpu-1: { labels: { pool: a } }
  gpu-2: { labels: { pool: a } }
  gpu-3: { labels: { pool: c } }
endpoints:
  qwen: { protocol: openai, served_model: qwen, nodes: { labels: { pool: a }, engine: vllm }, max_concurrency_per_node: 8 }
  lost: { protocol: openai, served_model: lost, nodes: { labels: { pool: b }, engine: vllm } }
publications:
  qwen: { price: { input: "1" }, bindings: [{ endpoint: qwen }] }
  lost: { price: { input: "1" }, bindings: [{ endpoint: lost }] }
keys:
  app: { kind: platform }
`

let dir: TempDir
let clock: TestClock
const run = (line: string, world: Partial<Parameters<typeof gw>[1]> = {}) =>
  gw(line.split(' '), { cwd: dir.path, clock, ...world })
const json = async (line: string) => JSON.parse((await run(`${line} --format json`)).stdout)

beforeEach(() => {
  dir = tempDir(onTestFinished)
  clock = testClock(NOON_MS)
  dir.write('gw.yaml', TREE)
})

describe('gw why, of files', () => {
  it.each([
    ['served', '--key app --model fast-chat --max-tokens 200'],
    ['not-allowed', '--key narrow --model fast-chat'],
    ['no-endpoint', '--key app --model parked'],
    ['banned', '--key app --model sonnet'],
    ['budget', '--key app --model fast-chat --max-tokens 9000000'],
    ['count', '--key admin --model sonnet --path /v1/messages/count_tokens'],
    ['models', '--key app'],
    ['keys', '--model fast-chat'],
  ])('shows each check, what came of it and what would hint it: %s', async (name, question) => {
    const { exit, stdout, stderr } = await run(`why -c gw.yaml ${question}`)
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' })
    await expect(stdout).toMatchFileSnapshot(`golden/why-${name}.txt`)
  })

  it('says of a shadow limit that it would reject, and serves the call', async () => {
    dir.write('gw.yaml', TREE.replace('quota: 100000', 'quota: { tokens: 100, mode: shadow }'))
    const question = 'why -c gw.yaml --key app --model fast-chat --max-tokens 200'
    const { stdout } = await run(question)
    expect(stdout).toContain('429 quota_exceeded, if enforced')
    expect(stdout).toContain('token quota of the key, a shadow limit: it counts and rejects nothing')
    const { served, rejection, checks } = (await json(question)).decision
    expect([served, rejection]).toEqual([true, undefined])
    expect(checks.find(({ check }: { check: string }) => check === 'key_quota')).toMatchObject({
      verdict: 'would_reject',
      rejection: { status: 429, code: 'quota_exceeded' },
      usage: { mode: 'shadow', limit: 100 },
    })
    expect(checks.at(-1)).toMatchObject({ check: 'ledger', verdict: 'passes' })
  })

  it('tells the bound of a rate that has a burst of its own', async () => {
    dir.write('gw.yaml', TREE.replace('limits: { rpm: 60,', 'limits: { rpm: { limit: 60, burst: 6 },'))
    const question = 'why -c gw.yaml --key app --model fast-chat --max-tokens 200'
    expect((await run(question)).stdout).toContain('any t seconds admit at most 6 + 60 × t / 60')
    const { checks } = (await json(question)).decision
    expect(checks.find(({ check }: { check: string }) => check === 'key_rpm').usage).toMatchObject({
      limit: 60,
      burst: 6,
    })
  })

  it('is coloured where colours are asked for, and plain ASCII where the locale knows no more', async () => {
    const question = 'why -c gw.yaml --key narrow --model fast-chat'
    const { stdout } = await run(`${question} --color always`)
    await expect(stdout).toMatchFileSnapshot('golden/why-not-allowed.colour.txt')
    const plain = await run(question, { environment: { LC_ALL: 'C', NO_COLOR: '1' }, terminal: 80 })
    await expect(plain.stdout).toMatchFileSnapshot('golden/why-not-allowed.ascii.txt')
    expect(plain.stdout).toMatch(/^[\x20-\x7e\n]*$/)
  })

  it('cuts a table, not the name of a model, where the terminal is narrow', async () => {
    const { stdout } = await run('why -c gw.yaml --key app', { terminal: 72 })
    await expect(stdout).toMatchFileSnapshot('golden/why-models.72-columns.txt')
  })

  it('tells the same as JSON', async () => {
    const { stdout } = await run('why -c gw.yaml --key narrow --model fast-chat --format json')
    await expect(stdout).toMatchFileSnapshot('golden/why-not-allowed.json.txt')
  })

  it.each([
    ['--key admin --model fast-cht', 'listing', 404, 'Did you mean `fast-chat`?'],
    ['--key admin --model soon', 'listing', 404, 'publications.soon at gw.yaml:16'],
    ['--key admin --model sonnet --path /v1/embeddings', 'protocol', 404, 'Call /v1/messages'],
    ['--key old --model fast-chat', 'key', 401, 'Move `expires_at'],
    ['--key app --model parked', 'endpoints', 503, 'endpoints.spare at gw.yaml:5'],
    ['--key app --model fast-chat --max-tokens 200000', 'key_quota', 429, 'Raise `quota` of keys.app'],
  ])('%s: the check that rejects, and the hint', async (question, check, status, hint) => {
    const { decision } = await json(`why -c gw.yaml ${question}`)
    expect(decision).toMatchObject({ served: false, rejection: { check, status } })
    expect(decision.rejection.hint).toContain(hint)
  })

  it('names the endpoint whose `paths` lack the path, and the paths that it has', async () => {
    const tree = TREE.replace('served_model: gpt, enabled: false', 'served_model: gpt, paths: [/v1/rerank]')
    dir.write('gw.yaml', tree)
    const { decision } = await json('why -c gw.yaml --key app --model parked')
    expect(decision).toMatchObject({ served: true, path: '/v1/rerank' })
    const other = await json('why -c gw.yaml --key app --model parked --path /v1/embeddings')
    expect(other.decision.rejection).toMatchObject({ code: 'wrong_protocol', status: 404 })
    expect(other.decision.rejection.hint).toBe(
      'Call /v1/rerank, or add `/v1/embeddings` to `paths` of endpoints.spare at gw.yaml:5 if its upstream serves it.',
    )
  })

  it('ends with 4 where it would be rejected and --exit-code asks for it', async () => {
    expect((await run('why -c gw.yaml --key app --model fast-chat --exit-code')).exit).toBe(0)
    expect((await run('why -c gw.yaml --key app --model soon --exit-code')).exit).toBe(4)
  })
})

describe('gw why, of the store', () => {
  beforeEach(async () => {
    expect((await run('apply --yes --skip-probe')).exit).toBe(0)
    await run('keys issue app')
  })

  it('counts what the ledger says was spent', async () => {
    await write(
      dir.at('data/gw.db'),
      billed({ id: 'a', atMs: NOON_MS - 60_000, tenant: 'blue', amountNano: 4_999_000_000n }),
    )
    const { decision } = await json('why --key app --model fast-chat')
    expect(decision.rejection).toMatchObject({ check: 'key_budget', code: 'budget_exceeded', status: 429 })
    const { usage } = decision.checks.find((step: { check: string }) => step.check === 'key_budget')
    expect(usage).toMatchObject({ limit: '5', used: '4.999', held: '0', unit: 'money' })
    expect(decision.rejection.hint).toBe(
      'Wait until 2026-01-16T00:00:00.000Z, when it starts anew, or raise `budget.amount` of keys.app at gw.yaml:26.',
    )
  })

  it('knows who has no secret, who is held, and what a wallet holds', async () => {
    const { keys } = await json('why --model fast-chat')
    const hints = Object.fromEntries(
      keys.map(({ key, rejection }: { key: string; rejection?: { hint: string } }) => [key, rejection?.hint]),
    )
    expect(hints).toMatchObject({ app: undefined, narrow: 'Mint its secret with `gw keys issue narrow`.' })
    await run('keys issue buyer')
    expect((await json('why --key buyer --model fast-chat')).decision.rejection).toMatchObject({
      code: 'insufficient_balance',
      hint: 'Credit it: `gw wallet credit paid AMOUNT --reference REF`.',
    })
    await run('keys disable app')
    expect((await json('why --key app')).models[0].rejection).toMatchObject({
      check: 'key',
      hint: 'End its suspension with `gw keys enable app`.',
    })
  })

  it('takes the spending of a key without a secret for unknown, not for a rejection', async () => {
    dir.write(
      'gw.yaml',
      `${TREE}  late: { kind: platform, quota: 100000, budget: { amount: "5", per: day } }\n`,
    )
    await run('apply --yes --skip-probe')
    const { checks } = (await json('why --key late --model fast-chat')).decision
    const verdicts = checks.map(({ check, verdict }: { check: string; verdict: string }) => [check, verdict])
    expect(Object.fromEntries(verdicts)).toMatchObject({
      key: 'rejects',
      key_quota: 'not_reached',
      key_budget: 'not_reached',
    })
  })

  it('finds the key of a secret on stdin, and shows the secret nowhere', async () => {
    const { stdout: secret } = await run('keys rotate app --grace 0s')
    const asked = await run('why --secret - --model fast-chat', { stdin: secret })
    expect(asked.exit).toBe(0)
    expect(asked.stdout).toContain('key app, model fast-chat')
    const foreign = await run('why --secret - --model fast-chat --format json', {
      stdin: `${secret.trim().slice(0, -1)}_\n`,
    })
    expect(JSON.parse(foreign.stdout).decision).toMatchObject({
      served: false,
      rejection: { check: 'key', code: 'invalid_api_key' },
    })
    for (const { stdout, stderr } of [asked, foreign])
      expect(stdout + stderr).not.toContain(secret.trim().slice(0, 20))
  })

  it('says when maintenance ends it all, and how to end maintenance', async () => {
    await run('maintenance on --message closed --yes')
    expect((await json('why --key app --model fast-chat')).decision.rejection).toMatchObject({
      check: 'maintenance',
      status: 503,
      message: 'closed',
      hint: 'End it with `gw maintenance off`.',
    })
  })
})

describe('gw why is asked wrongly', () => {
  it.each([
    ['', 64, 'Name a key, a model, or both'],
    ['--key app --secret -', 64, 'exclude each other'],
    ['--secret gw_abc --model x', 64, 'does not belong on the command line'],
    ['--key absent', 4, 'There is no key absent'],
    ['--key ap --model fast-chat', 4, 'Did you mean app?'],
    ['--key app --max-tokens many', 64, 'whole number'],
    ['--key app --url ftp://x', 64, 'http://127.0.0.1:8080'],
    ['--key app --url http://127.0.0.1:9', 4, 'There is no log-in for http://127.0.0.1:9'],
  ])('%s', async (question, exit, shown) => {
    const ended = await run(`why -c gw.yaml ${question}`.trim())
    expect({ exit: ended.exit, stdout: ended.stdout }).toEqual({ exit, stdout: '' })
    expect(ended.stderr).toContain(shown)
    const { stdout } = await run(`why -c gw.yaml ${question} --format json`.trim().replaceAll('  ', ' '))
    expect(JSON.parse(stdout)).toHaveProperty('error.code')
  })
})

describe('gw why of a store', () => {
  it('suggests a key that was meant, also one without a secret', async () => {
    expect((await run('apply --yes --skip-probe')).exit).toBe(0)
    const { exit, stderr } = await run('why --key ap --model fast-chat')
    expect(exit).toBe(4)
    expect(stderr).toContain('Did you mean app?')
  })
})

it.each(['qwen', 'lost'])('a model on nodes has a check of them: %s', async model => {
  dir.write('nodes.yaml', ON_NODES)
  const { stdout } = await run(`why --key app --model ${model} -c nodes.yaml`)
  await expect(stdout).toMatchFileSnapshot(`golden/why-nodes-${model}.txt`)
})
