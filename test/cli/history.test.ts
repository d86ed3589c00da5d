import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { type TempDir, tempDir } from '../support/temp-dir.ts'
import { type TestClock, testClock } from '../support/test-clock.ts'
import { gw } from './in-process.ts'
import { FIRST, SECOND } from './sample-tree.ts'

let dir: TempDir
let clock: TestClock
const run = (line: string, world: Omit<Parameters<typeof gw>[1], 'cwd'> = {}) =>
  gw(line.split(' '), { cwd: dir.path, clock, environment: { USER: 'ada' }, ...world })

/** Revision 1: the first tree · 2: a key by hand · 3: the second tree. */
beforeEach(async () => {
  dir = tempDir(onTestFinished)
  clock = testClock()
  dir.write('gw.yaml', FIRST)
  await run('apply --yes --skip-probe')
  clock.advance(60_000)
  await run('keys create robot --kind platform')
  clock.advance(60_000)
  dir.write('gw.yaml', SECOND)
  expect((await run('apply --yes --skip-probe', { environment: { USER: 'ben' } })).exit).toBe(0)
})

describe('gw history', () => {
  it('lists every revision, by files and by hand alike, the newest first', async () => {
    const { exit, stdout, stderr } = await run('history')
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' })
    await expect(stdout).toMatchFileSnapshot('golden/history.txt')
    await expect((await run('history --format json')).stdout).toMatchFileSnapshot('golden/history.json.txt')
  })

  it('lists as many as are asked for', async () => {
    const { stdout } = await run('history --limit 1 --format json')
    expect(JSON.parse(stdout).data.map(({ id }: { id: number }) => id)).toEqual([3])
    expect((await run('history --limit 0')).exit).toBe(64)
  })

  it.each([40, 50, 60, 80])('fits a terminal of %i columns', async columns => {
    const { stdout } = await run('history --color never', { terminal: columns })
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(columns)
  })

  it('loses its rarer columns first where the terminal is narrow', async () => {
    const { stdout } = await run('history --color never', { terminal: 60 })
    await expect(stdout).toMatchFileSnapshot('golden/history.narrow.txt')
  })

  it('says so where there is none', async () => {
    const ended = await run('history --store sqlite:./none.db')
    expect(ended).toMatchObject({ exit: 4, stdout: '', stderr: expect.stringContaining('GW2003') })
  })
})

describe('gw show', () => {
  it('shows what a revision changed, field by field', async () => {
    const { exit, stdout } = await run('show 3')
    expect(exit).toBe(0)
    await expect(stdout).toMatchFileSnapshot('golden/show.txt')
    const { changes, ...revision } = JSON.parse((await run('show 3 --format json')).stdout)
    expect(revision).toMatchObject({ id: 3, author: 'ben', counts: { create: 1, update: 3, delete: 1 } })
    expect(changes).toHaveLength(5)
  })

  it('shows what a hand has changed', async () => {
    expect((await run('show 2')).stdout).toMatch(
      /from {6}command line\n\n\+ key robot\n {4}kind {2}"platform"\n$/,
    )
  })

  it('prints the configuration that stood then', async () => {
    const { stdout } = await run('show 1 --yaml')
    dir.write('then.yaml', stdout)
    dir.write('gw.yaml', FIRST)
    await run('apply -c then.yaml --yes --skip-probe --store sqlite:./other.db')
    expect((await run('diff --exit-code --store sqlite:./other.db')).exit).toBe(0)
  })

  it.each(['0', 'x', '1.5'])('rejects %s', async text => {
    expect((await run(`show ${text}`)).exit).toBe(64)
  })

  it('says where there is no such revision', async () => {
    const { exit, stderr } = await run('show 9')
    expect(exit).toBe(4)
    await expect(stderr).toMatchFileSnapshot('golden/show-unknown.stderr.txt')
  })
})

describe('gw rollback', () => {
  it('makes all of an earlier revision stand again, of every owner, as a new one', async () => {
    await run('keys issue robot')
    const { exit, stdout } = await run('rollback 1 --yes')
    expect(exit).toBe(0)
    await expect(stdout).toMatchFileSnapshot('golden/rollback.txt')
    dir.write('gw.yaml', FIRST)
    expect((await run('diff --exit-code')).exit).toBe(0)
    expect((await run('keys show robot')).exit, 'it did not stand at 1').toBe(4)
    const [newest] = JSON.parse((await run('history --format json')).stdout).data
    expect(newest).toMatchObject({ id: 4, origin: 'rollback', restores: 1, author: 'ada' })
    expect((await run('history')).stdout).toContain('rollback to 1')
  })

  it('shows with --dry-run what it would do, and what it means', async () => {
    const { exit, stdout } = await run('rollback 2 --dry-run --format json')
    expect(exit).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      applied: false,
      revision: 3,
      plan: { base: 3, restores: 2, blast_radius: { goes_away: [{ kind: 'tenant', name: 'green' }] } },
    })
    expect(JSON.parse((await run('history --format json')).stdout).data).toHaveLength(3)
  })

  it('asks, rejects without a person, and takes no for an answer', async () => {
    expect((await run('rollback 1')).stderr).toContain('GW4002')
    const rejected = await run('rollback 1', { terminal: 100, stdin: 'n\n' })
    expect(rejected).toMatchObject({
      exit: 4,
      stderr: expect.stringContaining('Go back to revision 1? [y/N]'),
    })
    expect((await run('rollback 1 --dry-run')).stdout).toContain('Back to revision 1, against revision 3.')
  })

  it('deletes no more than may go unseen', async () => {
    dir.write(
      'more.yaml',
      `version: 1\nset: more\ntenants: { ${Array.from({ length: 12 }, (_, at) => `t${at}: {}`).join(', ')} }\n`,
    )
    await run('apply -c more.yaml --yes')
    const { exit, stderr } = await run('rollback 3 --yes')
    expect({ exit, stderr }).toMatchObject({ exit: 4, stderr: expect.stringContaining('--allow-deletes 12') })
    expect((await run('rollback 3 --yes --allow-deletes 12')).exit).toBe(0)
  })

  it('does nothing where nothing differs', async () => {
    const { exit, stdout } = await run('rollback 3')
    expect({ exit, last: stdout.trimEnd().split('\n').at(-1) }).toEqual({
      exit: 0,
      last: 'Nothing to do: revision 3 has the same content.',
    })
  })

  it('rejects a revision that there is not', async () => {
    expect(await run('rollback 9 --yes')).toMatchObject({
      exit: 4,
      stderr: expect.stringContaining('GW4005'),
    })
  })
})
