import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { openStore } from '../../src/store/open.ts'
import { canonical } from '../store/samples.ts'
import { storeOfFolder } from '../support/store-of-folder.ts'
import { type TempDir, tempDir } from '../support/temp-dir.ts'
import { gw } from './in-process.ts'
import { billed, NOON_MS, write } from './traffic.ts'

const FIRST = `version: 1
endpoints:
  fast: { protocol: openai, base_url: "http://127.0.0.1:9/v1", served_model: fast-1, skip_probe: true }
publications:
  chat: { price: { input: 1 }, bindings: [{ endpoint: fast }] }
tenants:
  blue: { billing: prepaid }
keys:
  app: { kind: tenant, tenant: blue, quota: 100000 }
`

const RENAMED = `version: 1
endpoints:
  quick: { previous_name: fast, protocol: openai, base_url: "http://127.0.0.1:9/v1", served_model: fast-1, skip_probe: true }
publications:
  talk: { previous_name: chat, price: { input: 1 }, bindings: [{ endpoint: quick }] }
tenants:
  azure: { previous_name: blue, billing: prepaid }
keys:
  application: { previous_name: app, kind: tenant, tenant: azure, quota: 100000 }
`

let dir: TempDir
const run = (line: string) => gw(line.split(' '), { cwd: dir.path })
const json = async (line: string) => JSON.parse((await run(`${line} --format json`)).stdout)

beforeEach(async () => {
  dir = tempDir(onTestFinished)
  dir.write('gw.yaml', FIRST)
  expect((await run('apply --yes')).exit).toBe(0)
  await run('keys issue app')
  await run('wallet credit blue 10 --reference inv-1')
  await write(
    dir.at('data/gw.db'),
    ['r1', 'r2'].flatMap(id => billed({ id, atMs: NOON_MS - 3_600_000 })),
  )
})

describe('previous_name', () => {
  beforeEach(() => dir.write('gw.yaml', RENAMED))

  it('is a rename in the plan, not an end and a beginning', async () => {
    const { stdout } = await run('diff')
    await expect(stdout).toMatchFileSnapshot('golden/previous-name.txt')
    expect(await json('diff')).toMatchObject({
      counts: { create: 0, update: 4, delete: 0, unchanged: 1 },
      changes: [
        { kind: 'endpoint', name: 'quick', renamed_from: 'fast' },
        { kind: 'publication', name: 'talk', renamed_from: 'chat' },
        { kind: 'tenant', name: 'azure', renamed_from: 'blue' },
        { kind: 'key', name: 'application', renamed_from: 'app' },
      ],
    })
  })

  it('keeps usage, spend, wallet, secrets and calls, under the new name', async () => {
    const before = {
      wallet: await json('wallet show blue'),
      usage: (await json('usage --by key --since 24h')).data,
      entries: (await json('wallet entries blue')).data,
    }
    expect((await run('apply --yes')).exit).toBe(0)
    expect(await json('wallet show azure')).toEqual({ ...before.wallet, tenant: 'azure' })
    expect((await json('usage --by key --since 24h')).data).toEqual([
      { ...before.usage[0], label: 'application' },
    ])
    for (const [by, name] of [
      ['tenant', 'azure'],
      ['model', 'talk'],
      ['endpoint', 'quick'],
    ]) {
      expect((await json(`usage --by ${by} --since 24h`)).data).toMatchObject([{ label: name, requests: 2 }])
    }
    expect((await json('wallet entries azure')).data).toHaveLength(before.entries.length)
    expect(await json('keys show application')).toMatchObject({ state: 'active' })
    const calls = (await run('logs --key application --format json')).stdout.trim().split('\n')
    expect(calls).toHaveLength(2)
    expect(JSON.parse(calls[0] ?? '')).toMatchObject({
      key: 'application',
      tenant: 'azure',
      model: 'talk',
      endpoint: 'quick',
    })
    expect((await run('ledger verify')).exit).toBe(0)
    expect((await run('wallet credit azure 5 --reference inv-2')).exit).toBe(0)
    expect(Number((await json('wallet show azure')).balance)).toBeGreaterThan(14)
  })

  it('does nothing where it is left in the file, and says that it may go', async () => {
    await run('apply --yes')
    const { exit, stdout } = await run('diff --exit-code')
    expect(exit).toBe(0)
    expect(stdout).toContain('`previous_name` has taken effect and can be removed')
    dir.write('gw.yaml', RENAMED.replaceAll(/previous_name: \w+, /g, ''))
    expect((await run('diff --exit-code')).exit).toBe(0)
  })

  it('gives the old name, when something else takes it, an account of its own', async () => {
    await run('apply --yes')
    dir.write('gw.yaml', `${RENAMED}  app: { kind: tenant, tenant: azure }\n`)
    await run('apply --yes')
    expect((await json('usage --by key --since 24h')).data).toMatchObject([
      { label: 'application', requests: 2 },
    ])
    expect((await run('logs --key app --format json')).stdout).toBe('')
    expect(await json('keys show app')).toMatchObject({ state: 'no_secret' })
  })

  it('is undone by a rollback, with all that was kept', async () => {
    await run('apply --yes')
    const { exit, stdout } = await run('rollback 1 --yes')
    expect(exit).toBe(0)
    expect(stdout).toContain('renamed from application')
    expect(stdout).toContain('0 to create, 4 to update, 0 to delete')
    expect(stdout).not.toContain('no secret')
    expect((await json('usage --by key --since 24h')).data).toMatchObject([{ label: 'app', requests: 2 }])
    expect(await json('keys show app')).toMatchObject({ state: 'active' })
    dir.write('gw.yaml', FIRST)
    expect((await run('diff --exit-code')).exit).toBe(0)
  })

  it('is shown by gw show', async () => {
    await run('apply --yes')
    expect((await run('show 2')).stdout).toContain('~ tenant azure')
    expect((await run('show 2')).stdout).toContain('renamed from blue')
  })

  it('works through a plan file', async () => {
    await run('plan -o plan.json')
    expect((await run('apply plan.json --yes')).exit).toBe(0)
    expect(await json('keys show application')).toMatchObject({ state: 'active' })
  })

  it('is no part of an export', async () => {
    await run('apply --yes')
    expect((await run('export')).stdout).not.toContain('previous_name')
  })

  it('brings along what the command line has made, and people who are bound to the tenant', async () => {
    await run('keys create robot --kind tenant --tenant blue')
    expect((await run('diff')).stdout).toContain('~ key robot')
    expect((await run('apply --yes')).exit).toBe(0)
    expect(await json('keys show robot')).toMatchObject({ tenant: 'azure', owner: 'cli' })
  })

  it('takes nothing from another set that refers to it', async () => {
    dir.write('other.yaml', 'version: 1\nset: other\nkeys: { theirs: { kind: tenant, tenant: blue } }\n')
    await run('apply -c other.yaml --yes')
    const { exit, stderr } = await run('diff')
    expect({ exit, stderr }).toMatchObject({ exit: 4, stderr: expect.stringContaining('GW4010') })
    expect(stderr).toContain('other.yaml:3')
  })
})

it('a rollback that makes a disabled key usable again says so', async () => {
  dir.write('gw.yaml', FIRST.replace('quota: 100000', 'quota: 100000, enabled: false'))
  expect((await run('apply --yes')).exit).toBe(0)
  expect((await run('rollback 1 --dry-run')).stdout).toContain(
    'it is disabled now, and its secrets work again',
  )
})

describe('a rollback to a name that something else has by now', () => {
  const users = (line: string) => run(`users ${line}`)
  const create = (name: string, tenant: string) =>
    gw(['users', 'create', name, '--tenant', tenant, '--password', '-'], {
      cwd: dir.path,
      stdin: 'correct horse battery',
    })
  /** The name is given up, by a delete or a rename, and then used for another customer. */
  const reuse = async (between: string) => {
    dir.write('gw.yaml', between)
    expect((await run('apply --yes --allow-deletes 10')).exit).toBe(0)
    const again = between.includes('azure')
      ? `${between.replace('keys:', '  blue: { billing: prepaid }\nkeys:')}  app: { kind: tenant, tenant: blue }\n`
      : FIRST
    dir.write('gw.yaml', again)
    expect((await run('apply --yes')).exit).toBe(0)
  }

  it.each([
    ['deleted', FIRST.slice(0, FIRST.indexOf('tenants:'))],
    ['renamed', RENAMED],
  ])('that was %s gives no secret and no user of one the account of the other', async (_, between) => {
    expect((await create('first', 'blue')).exit).toBe(0)
    await reuse(between)
    expect((await create('second', 'blue')).exit).toBe(0)
    const issued = await run('keys issue app')
    expect(issued.exit).toBe(0)
    const planned = await run('rollback 1 --dry-run')
    expect(planned.stdout).toContain('another tenant has this name now')
    expect(planned.stdout).toContain('another key has this name now')
    expect(planned.stdout).not.toContain('breaks no key')
    expect(planned.stdout).not.toContain('its wallet keeps')
    expect((await run('rollback 1 --yes --allow-deletes 10')).exit).toBe(0)
    // The first customer has its money back; its key has no secret until a new one is made.
    expect(Number((await json('wallet show blue')).balance)).toBeGreaterThan(9)
    expect(await json('keys show app')).toMatchObject({ state: 'no_secret' })
    expect((await users('list')).stdout).toMatch(/second .*disabled/)
    expect((await run('ledger verify')).exit).toBe(0)
  })
})

describe('a previous_name that cannot be followed', () => {
  it.each([
    [
      'of what is still declared',
      `${FIRST}  application: { previous_name: app, kind: platform }\n`,
      'is still declared',
    ],
    [
      'of what belongs to another set',
      'version: 1\nset: other\nkeys: { application: { previous_name: app, kind: platform } }\n',
      'belongs to the set default',
    ],
    [
      'that two have',
      FIRST.replace(
        '  app: { kind: tenant, tenant: blue, quota: 100000 }',
        '  a1: { previous_name: app, kind: platform }\n  a2: { previous_name: app, kind: platform }',
      ),
      'is renamed to another resource',
    ],
  ])('%s is left, with a word', async (_, yaml, words) => {
    dir.write('gw.yaml', yaml)
    const { stdout, exit } = await run('diff')
    expect({ exit, stdout }).toMatchObject({ exit: 0, stdout: expect.stringContaining(words) })
  })

  it.each([
    [
      'a swap',
      'keys: { app: { previous_name: other, kind: platform }, other: { previous_name: app, kind: platform } }',
      ['app cannot be renamed to other', 'other cannot be renamed to app'],
    ],
    [
      'a chain',
      'keys: { next: { previous_name: app, kind: platform }, app: { previous_name: other, kind: platform } }',
      ['other cannot be renamed to app'],
    ],
    [
      'a name that is in use',
      'keys: { other: { previous_name: app, kind: platform } }',
      ['app cannot be renamed to other'],
    ],
  ])('%s is rejected, and changes nothing', async (_, yaml, words) => {
    dir.write('gw.yaml', `${FIRST}  other: { kind: platform }\n`)
    expect((await run('apply --yes')).exit).toBe(0)
    dir.write('gw.yaml', FIRST.replace(/keys:[\s\S]*/, `${yaml}\n`))
    const { stderr, exit } = await run('apply --yes')
    expect(exit).toBe(4)
    expect(stderr).toContain('GW4013')
    for (const each of words) expect(stderr).toContain(each)
    expect((await run('history --format json')).stdout).not.toContain('"id":3')
    expect(await json('keys show app')).toMatchObject({ state: 'active' })
  })

  it('of nothing that stands is a creation like any other', async () => {
    dir.write('gw.yaml', RENAMED)
    const { stdout } = await run('diff --store sqlite:./new.db')
    expect(stdout).toContain('5 to create, 0 to update, 0 to delete')
    expect(stdout).not.toContain('previous_name')
  })
})

describe('the rename of a tenant', () => {
  const renamed = FIRST.replace('blue: {', 'azure: { previous_name: blue,').replace(
    'tenant: blue',
    'tenant: azure',
  )
  const create = async (name: string, origin: 'rest' | 'cli' = 'rest') => {
    const store = await openStore(await storeOfFolder(dir.path), { mode: 'write', clock: systemClock })
    const { head } = await store.live()
    const spec = canonical('key', { kind: 'tenant', tenant: 'blue', limits: { rpm: 7 } })
    const counts = { create: 1, update: 0, delete: 0, unchanged: 0 }
    const puts = [{ kind: 'key' as const, name, spec, owner: origin }]
    await store.commit({ base: head.revision, origin, counts, puts, deletes: [] })
    await store.close()
  }

  it('renames the keys that its users made, with secrets, usage, limits and suspension', async () => {
    await create('blue/own')
    await create('blue/a/b')
    await create('blue/cli', 'cli')
    await run('keys issue blue/own')
    await run('keys disable blue/own')
    await write(dir.at('data/gw.db'), billed({ id: 'r3', key: 'blue/own', atMs: NOON_MS - 3_600_000 }))
    dir.write('gw.yaml', renamed)
    const { stdout } = await run('diff')
    expect(stdout).toMatch(/~ key azure\/own\n {4}renamed from blue\/own\n/)
    expect((await run('apply --yes')).exit).toBe(0)
    expect(await json('keys show azure/own')).toMatchObject({
      tenant: 'azure',
      state: 'suspended',
      secret: { source: 'issued', active: 1 },
      limits: { rpm: 7 },
    })
    expect((await run('keys show blue/own')).exit).toBe(4)
    for (const kept of ['blue/a/b', 'blue/cli'])
      expect(await json(`keys show ${kept}`)).toMatchObject({ tenant: 'azure' })
    const labels = async () =>
      (await json('usage --by key --since 24h')).data.map(({ label }: { label: string }) => label).sort()
    expect(await labels()).toEqual(['app', 'azure/own'])
    expect((await run('show 5')).stdout).toContain('renamed from blue/own')
    expect((await run('ledger verify')).exit).toBe(0)

    const back = await run('rollback 4 --yes')
    expect(back.stdout).toContain('renamed from azure/own')
    expect(await json('keys show blue/own')).toMatchObject({ tenant: 'blue', state: 'suspended' })
    expect(await labels()).toEqual(['app', 'blue/own'])
  })

  it('is rejected if such a key would get the name of another key', async () => {
    await create('blue/own')
    await create('azure/own')
    dir.write('gw.yaml', renamed)
    const { exit, stderr } = await run('apply --yes')
    expect(exit).toBe(4)
    expect(stderr).toContain('The key blue/own cannot follow its tenant to the name azure/own')
  })
})
