import { execFileSync } from 'node:child_process'
import { EventEmitter } from 'node:events'
import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import Database from 'better-sqlite3'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { copyStore } from '../../src/store/copy.ts'
import { takeLease } from '../../src/store/ledger/lease.ts'
import { json } from '../support/answers.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'
import { fillUp, smallDisk } from '../support/small-disk.ts'
import { type TempDir, tempDir } from '../support/temp-dir.ts'
import { type TestClock, testClock } from '../support/test-clock.ts'
import { wholeGateway } from '../support/whole-gateway.ts'
import { gw } from './in-process.ts'
import { FIRST, SECOND } from './sample-tree.ts'
import { billed, NOON_MS, write } from './traffic.ts'

let dir: TempDir
let clock: TestClock
const run = (line: string, world: Partial<Parameters<typeof gw>[1]> = {}) =>
  gw(line.split(' '), { cwd: dir.path, clock, ...world })
const files = () => readdirSync(dir.path).toSorted()
const inStore = () => readdirSync(dir.at('data')).toSorted()

beforeEach(async () => {
  dir = tempDir(onTestFinished)
  clock = testClock(NOON_MS)
  dir.write('gw.yaml', FIRST)
  expect((await run('apply --yes --skip-probe')).exit).toBe(0)
  await run('wallet credit blue 50 --reference inv-1')
})

const revisions = async (line: string) => JSON.parse((await run(`${line} --format json`)).stdout).data.length

/** More than one step of a copy. */
function fill(rows: number): void {
  const raw = new Database(dir.at('data/gw.db'), { fileMustExist: true })
  raw.exec(`with recursive n (i) as (select 1 union all select i + 1 from n where i < ${rows})
    insert into call_logs (at_ms, request, key_id, publication_id, path_id, status, stream, outcome_id, amount_nano, flags,
      latency_ms, attempts)
    select i, hex(randomblob(200)), 1, 1, 1, 200, 0, 1, 0, 0, 1, 1 from n`)
  raw.close()
}

describe('gw backup', () => {
  it('while a gateway serves calls: a copy of one moment that adds up, with every bill from before it', async () => {
    const upstream = await scriptedUpstream(onTestFinished)
    upstream.answer(json({ model: 'served', usage: { prompt_tokens: 1, completion_tokens: 1 } }))
    const config = dir.write(
      'served.yaml',
      `
version: 1
endpoints:
  main: { protocol: openai, base_url: "${upstream.url}/v1", served_model: served, skip_probe: true }
publications:
  chat: { price: { input: 1, output: 1 }, bindings: [{ endpoint: main }] }
tenants: { acme: {} }
keys: { app: { kind: tenant, tenant: acme } }
`,
    )
    const folder = tempDir(onTestFinished)
    const gateway = await wholeGateway(onTestFinished, config, {}, folder.path)
    const secret = await gateway.issue('app')
    const call = async () => {
      const answer = await fetch(`${gateway.gatewayUrl}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${secret}` },
        body: JSON.stringify({ model: 'chat', messages: [] }),
      })
      await answer.text()
      expect(answer.status).toBe(200)
    }
    for (let before = 0; before < 5; before++) await call()
    const state = { isOver: false, calls: 0 }
    const load = Array.from({ length: 4 }, async () => {
      for (; !state.isOver; state.calls++) await call()
    })
    const made = await run(`backup copy.db --store ${gateway.store} --format json`)
    expect(made).toMatchObject({ exit: 0, stderr: '' })
    const rejected = await run(`restore copy.db --store ${gateway.store}`)
    expect(rejected).toMatchObject({ exit: 4, stdout: '' })
    expect(rejected.stderr).toContain('GW2006')
    state.isOver = true
    await Promise.all(load)
    expect(state.calls).toBeGreaterThan(0)
    expect(JSON.parse(made.stdout)).toMatchObject({ revision: 1, file: dir.at('copy.db') })
    const verified = await run('ledger verify --store sqlite:copy.db --format json')
    expect(verified.exit).toBe(0)
    expect(JSON.parse(verified.stdout).entries).toBeGreaterThanOrEqual(5)

    await gateway.serving.close(0)
    expect((await run(`restore copy.db --store ${gateway.store}`)).exit).toBe(0)
    const restored = await run(`ledger verify --store ${gateway.store} --format json`)
    expect(restored.stdout).toBe(verified.stdout)
  })

  it('is of the moment of its start, and is not begun anew by commits of others', async () => {
    fill(40_000)
    const seen: number[] = []
    const signal = new AbortController().signal
    const at = dir.at('copy.db')
    await copyStore(dir.at('data/gw.db'), at, {
      signal,
      onProgress(bytes) {
        seen.push(bytes)
        // Synchronous up to its end.
        void write(dir.at('data/gw.db'), billed({ id: `during-${seen.length}` }))
      },
    })
    expect(seen.length).toBeGreaterThan(2)
    expect(seen).toEqual(seen.toSorted((a, b) => a - b))
    expect(new Set(seen).size).toBe(seen.length)
    const raw = new Database(at, { readonly: true })
    expect(
      raw
        .prepare(
          `select (select count(*) from ledger where request is not null) + (select count(*) from open_holds)`,
        )
        .pluck()
        .get(),
    ).toBe(0)
    raw.close()
  })

  it('is one file that only its owner may read, and says where the key of credentials is', async () => {
    writeFileSync(dir.at('data/gw.db.key'), 'a key')
    const { exit, stdout, stderr } = await run('backup copy.db')
    expect(exit).toBe(0)
    expect(stdout).toMatch(/^Backed up revision 1 to .*copy\.db \(\d+\.\d MiB\)\.\n$/)
    expect(stderr).toContain(`Keep ${dir.at('data/gw.db.key')}`)
    expect(statSync(dir.at('copy.db')).mode & 0o777).toBe(0o600)
    expect((await run('history --store sqlite:copy.db')).exit).toBe(0)
    expect(files()).toEqual(['copy.db', 'data', 'gw.yaml'])
  })

  it('replaces a file only with --force, and never the store', async () => {
    dir.write('copy.db', 'mine')
    const { exit, stderr } = await run('backup copy.db')
    expect(exit).toBe(4)
    expect(stderr).toContain('GW4018')
    expect(stderr).toContain('--force')
    expect(readFileSync(dir.at('copy.db'), 'utf8')).toBe('mine')
    expect((await run('backup copy.db --force')).exit).toBe(0)
    expect((await run('history --store sqlite:copy.db')).exit).toBe(0)
    symlinkSync(dir.at('data/gw.db'), dir.at('linked.db'))
    for (const own of ['data/gw.db', 'data/gw.db-wal', 'linked.db']) {
      expect(await run(`backup ${own} --force`), own).toMatchObject({ exit: 64, stdout: '' })
    }
    expect((await run('backup nowhere/copy.db')).exit).toBe(64)
    expect((await run('backup data --force')).exit).toBe(64)
    expect((await run('export')).exit).toBe(0)
  })

  it('replaces neither a store that a gateway serves, nor a pipe', async () => {
    await run('apply --yes --skip-probe --store sqlite:other.db')
    const lease = takeLease(dir.at('other.db'))
    onTestFinished(() => lease.release())
    expect((await run('backup other.db --force')).stderr).toContain('GW2006')
    expect(await revisions('history --store sqlite:other.db')).toBe(1)
    execFileSync('mkfifo', [dir.at('pipe')])
    expect((await run('backup pipe --force')).stderr).toContain('pipe is not a file.')
    expect((await run('backup backup.db')).exit).toBe(0)
    expect((await run('restore backup.db --yes --store sqlite:pipe')).stderr).toContain('pipe is not a file.')
    expect(statSync(dir.at('pipe')).isFIFO()).toBe(true)
  })

  it('leaves a link, which leads to the backup then', async () => {
    dir.write('elsewhere/backup.db', 'former')
    symlinkSync(dir.at('elsewhere/backup.db'), dir.at('link.db'))
    expect((await run('backup link.db --force')).exit).toBe(0)
    expect(lstatSync(dir.at('link.db')).isSymbolicLink()).toBe(true)
    expect(await revisions('history --store sqlite:elsewhere/backup.db')).toBe(1)
  })

  it('shows its progress on a terminal, and leaves nothing behind when it is interrupted', async () => {
    fill(40_000)
    dir.write('copy.db', 'the one before')
    const before = files()
    const signals = new EventEmitter()
    let talk = ''
    const interrupted = await run('backup copy.db --force', {
      terminal: 80,
      signals,
      onTalk(text) {
        talk += text
        if (/Copying: [1-9]/.test(text)) signals.emit('SIGINT')
      },
    })
    expect(interrupted.exit).toBe(130)
    expect(talk).toMatch(/Copying: \d+\.\d of \d+\.\d MiB …/)
    expect(files()).toEqual(before)
    expect(readFileSync(dir.at('copy.db'), 'utf8')).toBe('the one before')
  })
})

describe('gw restore', () => {
  beforeEach(async () => {
    expect((await run('backup copy.db')).exit).toBe(0)
    dir.write('gw.yaml', SECOND)
    expect((await run('apply --yes --skip-probe')).exit).toBe(0)
  })

  it('brings back what stood at the backup, and keeps the former store beside it', async () => {
    const { exit, stdout } = await run('restore copy.db --format json')
    expect(exit).toBe(0)
    const former = `${dir.at('data/gw.db')}.before-2026-01-15T12-00-00-000Z`
    expect(JSON.parse(stdout)).toMatchObject({
      revision: 1,
      store: dir.at('data/gw.db'),
      former_store: former,
    })
    expect(await revisions('history')).toBe(1)
    expect(await revisions(`history --store sqlite:${former}`)).toBe(2)
    expect(statSync(dir.at('data/gw.db')).mode & 0o777).toBe(0o600)
    expect((await run('ledger verify')).exit).toBe(0)
    expect((await run('apply --yes --skip-probe')).exit).toBe(0)
  })

  it('makes the store where there is none', async () => {
    const { exit, stdout, stderr } = await run('restore copy.db --store sqlite:./other/gw.db')
    expect(exit).toBe(0)
    expect(stderr).toContain(`There was no store at ${dir.at('other/gw.db')} before`)
    expect(stdout).toBe(`${dir.at('other/gw.db')} is at revision 1, as ${dir.at('copy.db')} has it.\n`)
    expect(readdirSync(dir.at('other'))).toEqual(['gw.db'])
  })

  it('changes nothing while another process has the store open', async () => {
    const other = new Database(dir.at('data/gw.db'))
    other.exec('begin; select * from head')
    const { exit, stderr } = await run('restore copy.db')
    other.close()
    expect(exit).toBe(1)
    expect(stderr).toContain('GW2005')
    expect(await revisions('history')).toBe(2)
  })

  it('puts a backup in the place of a store that is damaged', async () => {
    for (const name of inStore()) if (name !== 'gw.db') writeFileSync(dir.at(`data/${name}`), 'rubbish')
    writeFileSync(dir.at('data/gw.db'), 'not a database at all, '.repeat(300))
    writeFileSync(dir.at('data/gw.db-wal'), 'rubbish')
    expect((await run('restore copy.db')).exit).toBe(0)
    expect(await revisions('history')).toBe(1)
    const [former = ''] = inStore().filter(name => /\.before-[^-]*-\d+-\d+T[\d-]+Z$/.test(name))
    expect(readFileSync(dir.at(`data/${former}`), 'utf8')).toMatch(/^not a database at all/)
  })

  it.each([
    ['that is damaged', (path: string) => damage(path), 'GW2009'],
    ['that is cut off', (path: string) => truncateSync(path, statSync(path).size / 2), 'GW2009'],
    ['that is no database', (path: string) => writeFileSync(path, 'version: 1\n'.repeat(900)), 'GW2009'],
    ['that is empty', (path: string) => writeFileSync(path, ''), 'GW2009'],
    ['of another program', (path: string) => alter(path, 'drop table kysely_migration'), 'GW2009'],
    [
      'of a newer gw',
      (path: string) => alter(path, `insert into kysely_migration values ('9999-later', '2026-01-01')`),
      'GW2002',
    ],
  ])('rejects a file %s, and changes nothing', async (_, spoil, code) => {
    spoil(dir.at('copy.db'))
    const beside = files()
    const { exit, stdout } = await run('restore copy.db --format json')
    expect(exit).not.toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ error: { code } })
    // The files of the locks stay.
    expect(inStore().filter(name => !/-(wal|shm)$/.test(name))).toEqual([
      'gw.db',
      'gw.db.gateway',
      'gw.db.gateway-start',
    ])
    expect(files()).toEqual(beside)
    expect(existsSync(dir.at('copy.db'))).toBe(true)
    expect(await revisions('history')).toBe(2)
  })
})

function alter(path: string, sql: string): void {
  const raw = new Database(path, { fileMustExist: true })
  raw.exec(sql)
  raw.close()
}

/** Writes over the pages of a table's rows. */
function damage(path: string): void {
  const raw = new Database(path, { fileMustExist: true })
  const root = raw.prepare(`select rootpage from sqlite_schema where name = 'resources'`).pluck().get()
  const pageBytes = Number(raw.pragma('page_size', { simple: true }))
  raw.close()
  const bytes = readFileSync(path)
  bytes.fill(0xff, (Number(root) - 1) * pageBytes, Number(root) * pageBytes)
  writeFileSync(path, bytes)
}

it.for([
  ['backup', 'copy.db'],
  ['restore', 'gw.db'],
])(
  'gw %s onto a disk without room names its folder, and leaves nothing there',
  async ([command, file], ctx) => {
    const disk = smallDisk(onTestFinished)
    if (disk instanceof Error) return ctx.skip(`no tmpfs can be mounted here: ${disk.message}`)
    fill(5_000)
    expect((await run('backup copy.db')).exit).toBe(0)
    fillUp(`${disk}/ballast`)
    const { exit, stderr } = await run(
      command === 'backup' ? `backup ${disk}/${file}` : `restore copy.db --store sqlite:${disk}/${file}`,
    )
    expect(exit).toBe(1)
    expect(stderr).toContain(`GW2001: The copy in ${disk} cannot be written: database or disk is full.`)
    expect(readdirSync(disk)).toEqual(['ballast'])
    expect((await run('ledger verify')).exit).toBe(0)
  },
)
