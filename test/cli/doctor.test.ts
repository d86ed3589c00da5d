import { chmodSync, mkdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { diskSpace, openFiles } from '../../src/services/doctor/machine.ts'
import { clockDiagnosis } from '../../src/services/doctor/store.ts'
import { controlScene } from '../admin/scene.ts'
import { freePort } from '../support/free-port.ts'
import { tempDir } from '../support/temp-dir.ts'
import { ON_POSTGRES } from '../support/test-engine.ts'
import { gw } from './in-process.ts'
import { FIRST } from './sample-tree.ts'

const dir = tempDir(afterAll)
let ports: readonly string[]

beforeAll(async () => {
  dir.write('gw.yaml', FIRST)
  await gw(['apply', '--yes', '--skip-probe'], { cwd: dir.path, clock: systemClock })
  ports = ['--listen', String(await freePort()), '--control-listen', String(await freePort())]
})

interface Check {
  readonly check: string
  readonly state: string
  readonly found: string
  readonly hint: string | null
}

async function examined(
  words: readonly string[] = [],
  environment: Readonly<Record<string, string>> = { FAST_KEY: 'a-secret-of-the-vendor' },
) {
  const world = { cwd: dir.path, clock: systemClock, environment }
  const { exit, stdout } = await gw(['doctor', ...ports, ...words, '--format', 'json'], world)
  const { checks, healthy } = JSON.parse(stdout) as { checks: readonly Check[]; healthy: boolean }
  expect(stdout).not.toContain('a-secret-of-the-vendor')
  return { exit, healthy, of: (name: string) => checks.filter(({ check }) => check === name) }
}

describe('gw doctor', () => {
  // Root may write everywhere by permissions: a file system without files cannot be written all the same.
  it.runIf(process.platform === 'linux')('finds a folder that cannot be written by writing', async () => {
    expect(await diskSpace('/proc/gw.db')).toMatchObject({
      state: 'fail',
      found: expect.stringContaining('/proc cannot be written: ENOENT'),
    })
  })

  it('says ok of a machine and a store that have what gw needs', async () => {
    const { exit, healthy, of } = await examined()
    expect({ exit, healthy }).toEqual({ exit: 0, healthy: true })
    const ofFile = ON_POSTGRES ? [] : ['disk', 'integrity', 'journal', 'master key']
    for (const check of ['memory', 'clock', 'store', 'secrets', ...ofFile]) {
      expect(of(check)).toMatchObject([{ check, state: 'ok', hint: null }])
    }
  })

  it('prints a line for each check, with what to hint below it, and a verdict last', async () => {
    const { stdout } = await gw(['doctor', '--color', 'never', ...ports], {
      cwd: dir.path,
      clock: systemClock,
      terminal: 60,
    })
    expect(stdout).toMatch(/store[\s\S]*revision\s+1/)
    expect(stdout).toMatch(/secrets +the variable\s+FAST_KEY/)
    expect(stdout.trimEnd().split('\n').at(-1)).toMatch(/^0 failures, \d warnings?\.$/)
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThan(100)
  })

  it('warns of a variable that is not set here, and names who refers to it', async () => {
    const { exit, of } = await examined([], {})
    expect(exit).toBe(0)
    expect(of('secrets')).toMatchObject([
      { state: 'warn', found: 'the variable FAST_KEY is not set, and endpoint fast refers to it.' },
    ])
  })

  it.each([
    ['a directory', (at: string) => mkdirSync(at), 'it is a directory', 'Name a file in it'],
    [
      'another file',
      (at: string) => dir.write(at.slice(dir.path.length + 1), 'this is no database at all, of any kind'),
      'not a database',
      'this file is not a database of gw',
    ],
  ])('fails, and so ends with 1, where the store is %s', async (what, make, found, hint) => {
    const at = dir.at(what.replaceAll(' ', '-'))
    make(at)
    const { exit, healthy, of } = await examined(['--store', `sqlite:${at}`])
    expect({ exit, healthy }).toEqual({ exit: 1, healthy: false })
    expect(of('store')).toMatchObject([{ state: 'fail' }])
    expect(of('store')[0]?.found).toContain(found)
    expect(of('store')[0]?.hint).toContain(hint)
  })

  it('warns of a store that is not there yet', async () => {
    const { exit, of } = await examined(['--store', 'sqlite:./none/gw.db'])
    expect(exit).toBe(0)
    expect(of('store')).toMatchObject([{ state: 'warn', hint: 'Create it with `gw apply`.' }])
  })

  it.skipIf(ON_POSTGRES)('warns of a store that all users may read', async () => {
    chmodSync(dir.at('data/gw.db'), 0o644)
    const { of } = await examined()
    chmodSync(dir.at('data/gw.db'), 0o600)
    expect(of('permissions')).toMatchObject([{ state: 'warn', hint: expect.stringContaining('chmod 600') }])
  })

  it('fails for a master key that is none, and shows nothing of it', async () => {
    const { exit, of } = await examined([], { FAST_KEY: 'x', GW_MASTER_KEY: 'a-secret-of-the-vendor' })
    expect(exit).toBe(1)
    expect(of('master key')).toMatchObject([{ state: 'fail', hint: expect.stringContaining('openssl') }])
  })

  it('tells a port that another program has from one that is free', async () => {
    const server = createServer(socket => socket.end())
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const address = server.address()
    const taken = typeof address === 'object' ? address?.port : undefined
    const { of } = await examined(['--listen', String(taken)])
    expect(of(`port ${taken}`)).toMatchObject([{ state: 'warn', found: 'Another program listens there.' }])
  })

  it('knows the port of a control plane', async () => {
    const { url } = await controlScene(onTestFinished)
    const { port } = new URL(url)
    const { of } = await examined(['--control-listen', port])
    const found = 'The control plane of a gw answers there.'
    expect(of(`port ${port}`)).toMatchObject([{ state: 'ok', found }])
  })
})

describe('a clock', () => {
  const newest = {
    id: 1,
    base: 0,
    origin: 'apply',
    createdAtMs: 1_000_000,
    counts: { create: 1, update: 0, delete: 0, unchanged: 0 },
  } as const
  it('behind the newest revision fails; a minute of it is nothing', () => {
    expect(clockDiagnosis(700_000, newest)).toMatchObject({
      state: 'fail',
      found: expect.stringContaining('300 s'),
    })
    expect(clockDiagnosis(950_000, newest).state).toBe('ok')
    expect(clockDiagnosis(0, undefined).state).toBe('ok')
  })
})

describe('the limit of open files', () => {
  it('is a warning where it is low, and unknown outside Linux', async () => {
    const limits = dir.write(
      'limits',
      'Limit Soft Hard Units\nMax open files            1024       4096     files\n',
    )
    expect(await openFiles(limits)).toMatchObject({
      state: 'warn',
      hint: expect.stringContaining('ulimit -n'),
    })
    expect(await openFiles(dir.at('none'))).toMatchObject({ state: 'ok' })
  })
})
