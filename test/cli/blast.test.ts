import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { radiusToText } from '../../src/cli/output/blast-text.ts'
import { styled } from '../../src/cli/output/style.ts'
import { type TempDir, tempDir } from '../support/temp-dir.ts'
import { gw } from './in-process.ts'
import { billed, NOON_MS, write } from './traffic.ts'

const HOUR_MS = 3_600_000

const many = Array.from({ length: 30 }, (_, at) => `  k${at}: { kind: platform, models: [chat, m${at}] }`)

const BEFORE = `version: 1
settings: { currency: EUR }
endpoints:
  fast: { protocol: openai, base_url: "http://127.0.0.1:9/v1", served_model: fast-1 }
  slow: { protocol: openai, base_url: "http://127.0.0.1:9/v1", served_model: slow-1 }
publications:
  chat: { price: { input: 2, output: 10 }, bindings: [{ endpoint: fast }] }
  draw: { price: { per_request: "0.04" }, bindings: [{ endpoint: slow }] }
  ${Array.from({ length: 30 }, (_, at) => `m${at}: { price: { input: 1 }, bindings: [{ endpoint: fast }] }`).join('\n  ')}
tenants: { blue: {} }
keys:
  app: { kind: tenant, tenant: blue, models: [chat, draw], limits: { rpm: 60 }, quota: 100000 }
  old: { kind: platform }
${many.join('\n')}
`

const AFTER = BEFORE.replace('slow: { protocol', 'slow: { enabled: false, protocol')
  .replace('input: 2,', 'input: 3,')
  .replace(
    'models: [chat, draw], limits: { rpm: 60 }, quota: 100000',
    'models: [chat], limits: { rpm: 1 }, quota: 500',
  )
  .replace('  old: { kind: platform }\n', '')
  .replaceAll('models: [chat, m', 'models: [m')

describe('the blast radius of a plan', () => {
  let dir: TempDir
  const run = (line: string, terminal?: number) =>
    gw(line.split(' '), { cwd: dir.path, stdin: 'n\n', ...(terminal !== undefined && { terminal }) })

  beforeEach(async () => {
    dir = tempDir(onTestFinished)
    dir.write('gw.yaml', BEFORE)
    expect((await run('apply --yes --skip-probe')).exit).toBe(0)
    const keys = ['app', 'old', ...many.map((_, at) => `k${at}`)]
    expect((await run(`keys issue ${keys.join(' ')}`)).exit).toBe(0)
    const calls = Array.from({ length: 40 }, (_, at) => ({
      id: `r${at}`,
      atMs: NOON_MS - HOUR_MS,
      amountNano: 1_000_000n,
    }))
    const draw = { id: 'd', publication: 'draw', endpoint: 'slow', atMs: NOON_MS - 3 * HOUR_MS }
    const old = { id: 'o', key: 'old', tenant: null, atMs: NOON_MS - 100 * HOUR_MS }
    await write(dir.at('data/gw.db'), [...calls, draw, old].flatMap(billed))
    dir.write('gw.yaml', AFTER)
  })

  it('says who loses what, what is in use and goes away, which limits reject, and what gets dearer', async () => {
    const { stdout, exit } = await run('diff')
    expect(exit).toBe(0)
    await expect(stdout.slice(stdout.indexOf('Blast radius'))).toMatchFileSnapshot('golden/blast.txt')
  })

  it('tells programs all of it, nothing folded', async () => {
    const { stdout } = await run('diff --format json')
    const { blast_radius: radius, verdict } = JSON.parse(stdout)
    expect(radius.access.flatMap((change: { keys: string[] }) => change.keys)).toHaveLength(31)
    expect(radius).toMatchObject({ breaks_keys: 32, in_use_goes_away: 1, unserved: ['draw'] })
    expect(verdict).toMatch(/^0 to create, \d+ to update, 1 to delete; breaks 32 keys; /)
    await expect(
      `${JSON.stringify({ ...radius, access: radius.access.slice(0, 2) }, null, 2)}\n`,
    ).toMatchFileSnapshot('golden/blast.json.txt')
  })

  it('ends in the verdict, above the question of an apply', async () => {
    const { stdout, stderr } = await run('apply --skip-probe', 100)
    expect(stdout.trimEnd().split('\n').at(-1)).toContain(
      'breaks 32 keys; leaves 1 publication without an endpoint',
    )
    expect(stderr).toContain('Apply these changes? [y/N]')
  })
})

it('tells which nodes an endpoint gets and loses', () => {
  const loses = ['gpu-5', 'gpu-6', 'gpu-7', 'gpu-8', 'gpu-9'].map((node, at) => ({
    node,
    requests: at * 602,
  }))
  const nodes = [
    { endpoint: 'alone', matches: [], gains: [], loses: [] },
    { endpoint: 'qwen', matches: ['gpu-1', 'gpu-2'], gains: ['gpu-2'], loses: loses.slice(0, 3) },
    { endpoint: 'small', matches: ['gpu-1'], gains: [], loses },
  ]
  const none = {
    access: [],
    brokenKeys: 0,
    hasClients: true,
    unserved: [],
    paths: [],
    prices: [],
    limits: [],
    endings: [],
  }
  const text = radiusToText({ ...none, nodes, currency: '', atMs: 0 }, styled(false))
  expect(text.split('\n').slice(1)).toEqual([
    '    endpoint alone matches no connected node',
    '    endpoint qwen matches 2 nodes now (gpu-1, gpu-2); loses gpu-5: no request in the last 24 h, gpu-6: 602 requests in the last 24 h, gpu-7: 1204 requests in the last 24 h; gains gpu-2',
    '    endpoint small matches 1 node now (gpu-1); loses gpu-5: no request in the last 24 h, gpu-6: 602 requests in the last 24 h, gpu-7: 1204 requests in the last 24 h; and 2 more',
  ])
})
