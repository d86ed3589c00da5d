import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { openStore } from '../../src/store/open.ts'
import { storeOfFolder } from '../support/store-of-folder.ts'
import { type TempDir, tempDir } from '../support/temp-dir.ts'
import { type TestClock, testClock } from '../support/test-clock.ts'
import { gw } from './in-process.ts'
import { FIRST, SECOND } from './sample-tree.ts'

const HOUR_MS = 3_600_000

let dir: TempDir
let clock: TestClock
const run = (line: string, world: Omit<Parameters<typeof gw>[1], 'cwd'> = {}) =>
  gw(line.split(' '), { cwd: dir.path, clock, ...world })

beforeEach(async () => {
  dir = tempDir(onTestFinished)
  clock = testClock()
  dir.write('gw.yaml', FIRST)
  expect((await run('apply --yes --skip-probe')).exit).toBe(0)
  dir.write('gw.yaml', SECOND)
})

const edit = (change: (text: string) => string) =>
  writeFileSync(dir.at('plan.json'), change(readFileSync(dir.at('plan.json'), 'utf8')))

describe('gw plan -o', () => {
  it('shows what diff shows, and writes a file that only its owner may read', async () => {
    const { exit, stdout, stderr } = await run('plan -o plan.json')
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' })
    await expect(stdout).toMatchFileSnapshot('golden/plan.txt')
    expect(statSync(dir.at('plan.json')).mode & 0o777).toBe(0o600)
    const json = await run('plan -o plan.json --format json')
    expect(JSON.parse(json.stdout)).toMatchObject({
      base: 1,
      counts: { create: 1, update: 3, delete: 1 },
      file: 'plan.json',
      expires_at: '2026-01-16T12:00:00.000Z',
    })
  })

  it('writes references to secrets and no secret', async () => {
    await run('plan -o plan.json', {
      environment: { NEW_KEY: 'sk-canary-5ecret', FAST_KEY: 'sk-canary-5ecret' },
    })
    const text = readFileSync(dir.at('plan.json'), 'utf8')
    expect(text).toContain('"env": "NEW_KEY"')
    expect(text).not.toContain('canary')
  })

  it('without -o only shows, and has nothing to expire', async () => {
    expect((await run('plan')).stdout).toContain('1 to create, 3 to update, 1 to delete')
    expect((await run('plan --expires 1h')).exit).toBe(64)
  })
})

describe('gw apply PLAN', () => {
  it('applies exactly what was planned, whatever the files say by now', async () => {
    await run('plan -o plan.json')
    dir.write('gw.yaml', FIRST.replace('Team Blue', 'Team Red'))
    const { exit, stdout } = await run('apply plan.json --yes --skip-probe')
    expect(exit).toBe(0)
    expect(stdout.trimEnd().split('\n').at(-1)).toBe('Applied: revision 2.')
    dir.write('gw.yaml', SECOND)
    expect((await run('diff --exit-code')).exit).toBe(0)
  })

  it('with --dry-run shows it and writes nothing', async () => {
    await run('plan -o plan.json')
    const { exit, stdout } = await run('apply plan.json --dry-run')
    expect({ exit, last: stdout.trimEnd().split('\n').at(-1) }).toEqual({
      exit: 0,
      last: '1 to create, 3 to update, 1 to delete; breaks no key',
    })
    expect((await run('diff --exit-code')).exit).toBe(2)
  })

  it('rejects a plan whose base has moved, and changes nothing', async () => {
    await run('plan -o plan.json')
    dir.write('other.yaml', 'version: 1\nset: other\ntenants: { red: {} }\n')
    await run('apply -c other.yaml --yes --skip-probe')
    const { exit, stderr } = await run('apply plan.json --yes --skip-probe')
    expect(exit).toBe(4)
    await expect(stderr).toMatchFileSnapshot('golden/plan-stale.stderr.txt')
    const json = await run('apply plan.json --yes --skip-probe --format json')
    expect(JSON.parse(json.stdout)).toHaveProperty('error.code', 'GW4001')
    expect((await run('diff --exit-code')).exit).toBe(2)
  })

  it('rejects a plan of another store that happens to be at the same revision', async () => {
    await run('plan -o plan.json')
    dir.write('other.yaml', FIRST.replace('Team Blue', 'Team Red'))
    await run('apply -c other.yaml --yes --skip-probe --store sqlite:./other.db')
    const { exit, stderr } = await run('apply plan.json --yes --skip-probe --store sqlite:./other.db')
    expect(exit).toBe(4)
    expect(stderr).toContain('GW4001')
    expect(stderr).toContain('another store')
  })

  it('rejects a plan that has expired', async () => {
    await run('plan -o plan.json --expires 1h')
    clock.advance(HOUR_MS)
    const { exit, stderr } = await run('apply plan.json --yes --skip-probe')
    expect(exit).toBe(4)
    await expect(stderr).toMatchFileSnapshot('golden/plan-expired.stderr.txt')
  })

  it.each<[string, (text: string) => string]>([
    ['a value that was changed', text => text.replace('"input": "3"', '"input": "0"')],
    ['a later end', text => text.replace('2026-01-16', '2036-01-16')],
    [
      'a resource that was taken out',
      text => text.replace(/\{\s+"kind": "tenant",[^}]+"green"[\s\S]+?\},\s+(?=\{)/, ''),
    ],
    ['half of it', text => text.slice(0, text.length / 2)],
    ['a field of its own', text => text.replace('"base": 1', '"base": 1, "more": 2')],
    ['something else', () => '{"hello": "world"}'],
  ])('rejects a plan with %s', async (_, change) => {
    await run('plan -o plan.json')
    const before = readFileSync(dir.at('plan.json'), 'utf8')
    edit(change)
    expect(readFileSync(dir.at('plan.json'), 'utf8')).not.toBe(before)
    const { exit, stderr } = await run('apply plan.json --yes --skip-probe')
    expect({ exit, stderr }).toEqual({ exit: 3, stderr: expect.stringContaining('error GW3003') })
    expect((await run('diff --exit-code')).exit).toBe(2)
  })

  it('is the same plan where it was only formatted anew', async () => {
    await run('plan -o plan.json')
    edit(text => JSON.stringify(JSON.parse(text)))
    expect((await run('apply plan.json --yes --skip-probe')).exit).toBe(0)
  })

  it('asks before it applies, and takes no configuration beside the plan', async () => {
    await run('plan -o plan.json')
    expect((await run('apply plan.json --skip-probe')).stderr).toContain('GW4002')
    expect((await run('apply plan.json -c gw.yaml --yes')).exit).toBe(64)
    expect((await run('apply nothing.json --yes')).stderr).toContain('There is no plan file nothing.json.')
  })
})

describe('gw apply --allow-deletes', () => {
  const keys = (count: number) =>
    `version: 1\nset: shop\nkeys:\n${Array.from({ length: count }, (_, at) => `  k${at}: { kind: platform }\n`).join('')}`

  it('is needed where much is deleted, before any question, and names its number', async () => {
    dir.write('gw.yaml', keys(30))
    await run('apply --yes --skip-probe --allow-deletes 20')
    dir.write('gw.yaml', keys(10))
    const { exit, stdout, stderr } = await run('apply --yes --skip-probe')
    expect(exit).toBe(4)
    expect(stdout).toContain('20 to delete')
    await expect(stderr).toMatchFileSnapshot('golden/apply-deletes.stderr.txt')
    expect((await run('apply --yes --skip-probe --allow-deletes 19')).exit).toBe(4)
    expect((await run('apply --yes --skip-probe --allow-deletes 20')).exit).toBe(0)
  })
})

describe('--adopt', () => {
  const ADOPTING = SECOND.replace('keys:\n', 'keys:\n  robot: { kind: platform, limits: { rpm: 5 } }\n')

  beforeEach(async () => {
    expect((await run('keys create robot --kind platform')).exit).toBe(0)
    dir.write('gw.yaml', ADOPTING)
  })

  it('takes over what the command line has made, with its secrets, and says so', async () => {
    await run('keys issue robot')
    expect((await run('diff')).stderr).toContain('GW4004')
    const { exit, stdout } = await run('diff --adopt key/robot')
    expect(exit).toBe(0)
    expect(stdout).toContain('adopted: created with the command line, owned by the files from now on')
    expect((await run('apply --yes --skip-probe --adopt key/robot')).exit).toBe(0)
    const shown = JSON.parse((await run('keys show robot --format json')).stdout)
    expect(shown).toMatchObject({ owner: 'config', set: 'shop', limits: { rpm: 5 }, state: 'active' })
    expect((await run('diff --adopt key/robot --exit-code')).exit, 'it may stay in a script').toBe(0)
  })

  it('takes over what says the same already, which is a change as well', async () => {
    dir.write('gw.yaml', ADOPTING.replace(', limits: { rpm: 5 }', ''))
    const { stdout } = await run('apply --yes --skip-probe --adopt key/robot')
    expect(stdout).toContain('~ key robot')
    expect((await run('diff --exit-code')).exit).toBe(0)
  })

  it('works through a plan file', async () => {
    expect((await run('plan -o plan.json --adopt key/robot')).exit).toBe(0)
    expect((await run('apply plan.json --yes --skip-probe')).exit).toBe(0)
    expect((await run('diff --exit-code')).exit).toBe(0)
  })

  it.each([
    ['key/absent', 64, 'do not declare'],
    ['robot', 64, 'KIND/NAME'],
    ['tenant/green', 4, 'There is no tenant green to adopt'],
  ])('rejects %s', async (id, exit, words) => {
    const ended = await run(`diff --adopt ${id}`)
    expect(ended).toMatchObject({ exit, stderr: expect.stringContaining(words) })
  })

  it('moves a resource from another set, whose files must not declare it any more', async () => {
    await run('apply --yes --skip-probe --adopt key/robot')
    await run('keys issue robot')
    const other = 'version: 1\nset: other\nkeys:\n  robot: { kind: platform, limits: { rpm: 5 } }\n'
    dir.write('other.yaml', other)
    const rejected = await run('diff -c other.yaml')
    expect(rejected).toMatchObject({ exit: 4, stderr: expect.stringContaining('--adopt KIND/NAME') })
    const { stdout } = await run('apply -c other.yaml --yes --skip-probe --adopt key/robot')
    expect(stdout).toContain('adopted: declared in another set, owned by the files from now on')
    const shown = JSON.parse((await run('keys show robot --format json')).stdout)
    expect(shown).toMatchObject({ owner: 'config', set: 'other', state: 'active' })
    expect((await run('diff')).stderr).toContain('the key robot belongs to the set other')
    dir.write('gw.yaml', SECOND)
    expect((await run('diff --exit-code')).exit, 'nothing is deleted').toBe(0)
  })
})

describe('gw apply --wait', () => {
  const report = async (more: object) => {
    const store = await openStore(await storeOfFolder(dir.path), { mode: 'write', clock, folder: dir.path })
    await store.reportGateway({
      id: 'a',
      pid: 7,
      host: 'here',
      url: 'http://here:8090',
      startedAtMs: 0,
      revision: 1,
      keyVersion: 0,
      ...more,
    })
    await store.close()
  }
  /** Lets the next look of the wait find something new. */
  const meanwhile = async (change: () => Promise<void>) => {
    await clock.waiting()
    await change()
    clock.advance(250)
  }

  it('ends when every gateway serves the revision', async () => {
    await report({})
    const [ended] = await Promise.all([
      run('apply --yes --skip-probe --wait'),
      meanwhile(() => report({ revision: 2 })),
    ])
    expect(ended.exit).toBe(0)
    expect(ended.stdout).toMatch(/Applied: revision 2\.\nServed by 1 gateway\.\n$/)
  })

  it('fails with 5 as soon as one rejects it, says why, and that it is applied', async () => {
    await report({})
    const [ended] = await Promise.all([
      run('apply --yes --skip-probe --wait --format json'),
      meanwhile(() => report({ rejected: { revision: 2, reason: 'NEW_KEY is not set' } })),
    ])
    expect(ended.exit).toBe(5)
    expect(JSON.parse(ended.stdout).error).toMatchObject({
      code: 'GW5002',
      message: expect.stringMatching(
        /^Revision 2 is applied, but .*http:\/\/here:8090.* NEW_KEY is not set\.$/,
      ),
    })
  })

  it('fails with 5 when the time is over', async () => {
    await report({})
    const [ended] = await Promise.all([
      run('apply --yes --skip-probe --wait 500ms'),
      meanwhile(async () => undefined).then(() => meanwhile(async () => undefined)),
    ])
    expect(ended).toMatchObject({ exit: 5, stderr: expect.stringContaining('serves 1') })
  })

  it('is what happens without it: a gateway that rejects the revision ends the apply with 5, its reason and the hint', async () => {
    await report({})
    const reason = 'endpoints.main.upstream_key: the variable NEW_KEY is not set'
    const [ended] = await Promise.all([
      run('apply --yes --skip-probe'),
      meanwhile(() => report({ rejected: { revision: 2, reason } })),
    ])
    expect(ended.exit).toBe(5)
    expect(ended.stderr).toContain(`error GW5002: Revision 2 is applied, but the gateway http://here:8090`)
    expect(ended.stderr).toContain(reason)
    expect(ended.stderr).toMatch(/hint: .*set NEW_KEY .*restart.*`\{ file: \/path \}`/)
  })

  it('lasts five seconds without it, and not at all with --no-wait', async () => {
    await report({})
    const quick = await run('apply --yes --skip-probe --no-wait')
    expect(quick).toMatchObject({ exit: 0, stdout: expect.stringMatching(/Applied: revision 2\.\n$/) })
    const slow = run('apply --yes --skip-probe')
    for (let looks = 0; looks < 20; looks++) await meanwhile(async () => undefined)
    expect(await slow).toMatchObject({ exit: 5, stderr: expect.stringContaining('after 5 s') })
  })

  it('says on stderr alone that no gateway is there, without a question', async () => {
    const { exit, stdout, stderr } = await run('apply --yes --skip-probe')
    expect({ exit, stdout }).toEqual({ exit: 0, stdout: expect.not.stringContaining('No gateway') })
    expect(stderr).toContain('No gateway serves this store at the moment: `gw serve` starts one.')
  })

  it('does not wait where no gateway is alive', async () => {
    await report({})
    clock.advance(HOUR_MS / 2)
    const { exit, stdout } = await run('apply --yes --skip-probe --wait')
    expect({ exit, last: stdout.trimEnd().split('\n').at(-1) }).toEqual({
      exit: 0,
      last: 'No gateway serves this store at the moment.',
    })
  })
})
