import { existsSync, writeFileSync } from 'node:fs'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { execute } from '../support/past-the-store.ts'
import { storeOfFolder } from '../support/store-of-folder.ts'
import { type TempDir, tempDir } from '../support/temp-dir.ts'
import { type TestClock, testClock } from '../support/test-clock.ts'
import { ON_POSTGRES } from '../support/test-engine.ts'
import { gw } from './in-process.ts'
import { FIRST } from './sample-tree.ts'
import { billed, held, NOON_MS, write } from './traffic.ts'

let dir: TempDir
let clock: TestClock
const run = (line: string, world: Partial<Parameters<typeof gw>[1]> = {}) =>
  gw(line.split(' '), { cwd: dir.path, clock, ...world })

beforeEach(async () => {
  dir = tempDir(onTestFinished)
  clock = testClock(NOON_MS)
  dir.write('gw.yaml', FIRST)
  expect((await run('apply --yes --skip-probe')).exit).toBe(0)
  await run('wallet credit blue 50 --reference inv-1')
  await write(dir.at('data/gw.db'), billed({ id: 'r1', amountNano: 1_250_000_000n }))
})

/** What a person with a database client would do behind gw's back. */
async function tamper(sql: string): Promise<void> {
  await execute(await storeOfFolder(dir.path), sql)
}

/** Both engines find the same; each in the words of its tables. */
const golden = (name: string) => `golden/${ON_POSTGRES ? 'postgres/' : ''}${name}`

describe('gw ledger verify', () => {
  beforeEach(() => write(dir.at('data/gw.db'), [held({ id: 'r2' })]))

  it('says what it has checked, and ends with 0 where all sums match', async () => {
    const { exit, stdout, stderr } = await run('ledger verify')
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' })
    expect(stdout).toBe('Checked 2 entries, 1 open hold, 1 account: all sums match.\n')
    const json = await run('ledger verify --format json')
    expect(JSON.parse(json.stdout)).toEqual({
      fits: true,
      entries: 2,
      archived: 0,
      open_holds: 1,
      unfolded_rows: 0,
      accounts: 1,
      findings: [],
    })
  })

  it('names each row that does not fit by its table, and ends with 1', async () => {
    await tamper(`update wallets set balance_units = balance_units + 1;
      update key_totals set tokens = 7;
      delete from ${ON_POSTGRES ? 'older_holds' : 'open_holds'}`)
    const { exit, stdout, stderr } = await run('ledger verify')
    expect(exit).toBe(1)
    await expect(stdout).toMatchFileSnapshot(golden('ledger-verify-broken.txt'))
    await expect(stderr).toMatchFileSnapshot(golden('ledger-verify-broken.stderr.txt'))
  })

  it('gives programs one document, in failure as well', async () => {
    await tamper(`update wallets set balance_units = balance_units + 1`)
    const { exit, stdout, stderr } = await run('ledger verify --format json')
    expect({ exit, stderr }).toEqual({ exit: 1, stderr: '' })
    await expect(stdout).toMatchFileSnapshot(golden('ledger-verify-broken.json.txt'))
  })

  it('tells the person at a terminal that it is at work', async () => {
    const { stdout, stderr } = await run('ledger verify --color never', { terminal: 80 })
    expect(stderr).toContain('Checking the ledger: 2 of 2 entries …')
    // Taken away again before anything else is said.
    expect(stderr.endsWith('\r\u001B[2K')).toBe(true)
    expect(stdout).toContain('all sums match')
  })

  it('fits in a store that has no entries at all', async () => {
    const cwd = tempDir(onTestFinished).path
    writeFileSync(`${cwd}/gw.yaml`, FIRST)
    await run('apply --yes --skip-probe', { cwd })
    const { stdout } = await run('ledger verify', { cwd })
    expect(stdout).toBe('Checked 0 entries, 0 open holds, 0 accounts: all sums match.\n')
  })
})

describe('gw ledger archive', () => {
  const FEBRUARY_MS = Date.UTC(2026, 1, 1)
  const archive = (file = 'ledger-2026-01.jsonl.gz') => run(`ledger archive --before 2026-02 ${file}`)

  beforeEach(async () => {
    clock.setNowMs(FEBRUARY_MS + 86_400_000)
    await write(dir.at('data/gw.db'), [...billed({ id: 'r2' }), ...billed({ id: 'r3', atMs: FEBRUARY_MS })])
  })

  it('moves a closed month to a file, which the ledger adds up with', async () => {
    const { exit, stdout, stderr } = await archive()
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' })
    expect(stdout).toMatch(
      /^Archived 2 entries before 2026-02 to .*ledger-2026-01\.jsonl\.gz \(0\.0 MiB\)\. Keep this file\.\nSHA-256 [0-9a-f]{64}\n$/,
    )
    expect((await run('ledger verify')).stdout).toBe(
      'Checked 2 entries and the sums of 2 archived ones, 0 open holds, 1 account: all sums match.\n',
    )
    expect((await run('ledger verify --archive ledger-2026-01.jsonl.gz')).stdout).toMatch(
      /^Checked 4 entries, /,
    )
    const { stdout: list } = await run('ledger archives')
    expect(list).toMatch(
      /^BEFORE .*\n2026-02 +2 +0\.0 +2026-02-02 +[0-9a-f]{64} +\S+ledger-2026-01\.jsonl\.gz\n$/,
    )
  })

  it('leaves the balance of a deleted tenant, whose charges are in the file', async () => {
    const balance = async () => JSON.parse((await run('wallet show solo --format json')).stdout).balance
    dir.write('gw.yaml', FIRST.replace('keys:', '  solo: {}\nkeys:'))
    expect((await run('apply --yes --skip-probe')).exit).toBe(0)
    await write(dir.at('data/gw.db'), billed({ id: 'r4', tenant: 'solo', amountNano: 7_000_000n }))
    await write(dir.at('data/gw.db'), billed({ id: 'r5', atMs: FEBRUARY_MS }))
    const before = await balance()
    expect(before).toBe('-0.007')
    dir.write('gw.yaml', 'version: 1\nset: shop\n')
    expect((await run('apply --yes --skip-probe --allow-deletes 10')).exit).toBe(0)
    expect((await archive()).exit).toBe(0)
    expect(await balance()).toBe(before)
  })

  it('says that there is nothing to archive, and writes no file', async () => {
    await archive()
    const { exit, stdout } = await archive('again.jsonl.gz')
    expect({ exit, stdout }).toEqual({ exit: 0, stdout: 'Nothing to archive before 2026-02.\n' })
    expect(existsSync(dir.at('again.jsonl.gz'))).toBe(false)
  })

  it.each([
    ['ledger archive x.gz', /^error GW6001: The month is missing/],
    ['ledger archive --before 2026-03 x.gz', /^error GW6001: .* is in the future.*\n.*2026-02/],
    ['ledger archive --before 2026-2 x.gz', /^error GW6001: .* is not a month/],
    ['ledger archive --before 2026-02 gw.yaml', /^error GW4018: .*gw.yaml already exists/],
    ['ledger archive --before 2026-02 none/x.gz', /^error GW2001: .*none/],
    ['ledger verify --archive none.gz', /^error GW2012: .*none.gz cannot be read/],
    [
      'ledger verify --archive gw.yaml',
      /^error GW2012: .*gw.yaml is not an archive of this store, or it was changed/,
    ],
  ])('%s', async (line, message) => {
    const { exit, stderr } = await run(line)
    expect(exit).toBeGreaterThan(0)
    expect(stderr).toMatch(message)
    expect((await run('ledger verify --format json')).stdout).toContain('"archived": 0')
  })
})
