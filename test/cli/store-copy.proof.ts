import { execFileSync } from 'node:child_process'
import process from 'node:process'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { transferStore } from '../../src/store/transfer/transfer.ts'
import { emptyDatabase } from '../support/postgres.ts'
import { tempDir } from '../support/temp-dir.ts'
import { gw } from './in-process.ts'
import { FIRST, SECOND } from './sample-tree.ts'
import { billed, write } from './traffic.ts'

/** Takes the lock that a gateway needs to join, and prints the code of the error. */
const JOINING = `
  import pg from 'pg'
  const client = new pg.Client(process.argv[1])
  await client.connect()
  const join = 'do $$ begin lock table instances in row exclusive mode nowait; end $$'
  process.stdout.write(await client.query(join).then(() => 'joined', error => error.code))
  await client.end()`
/** PostgreSQL, appendix A. */
const LOCK_NOT_AVAILABLE = '55P03'

/** What is asked of each store, and must be answered the same. */
const QUESTIONS = [
  'export --all',
  'keys list',
  'history',
  'show 1',
  'users list',
  'usage --by key',
  'logs',
  'wallet list',
  'wallet entries blue',
  'ledger verify',
]

async function setUp() {
  const folder = tempDir(onTestFinished)
  const run = async (command: string, store: string, stdin?: string) =>
    gw([...command.split(' '), '--store', store, '--format', 'json'], {
      cwd: folder.path,
      clock: systemClock,
      ...(stdin !== undefined && { stdin }),
    })
  const answers = async (store: string) => {
    const all: string[] = []
    for (const question of QUESTIONS) all.push((await run(question, store)).stdout)
    return all
  }
  return { folder, run, answers }
}

test('a store is copied to PostgreSQL and back, and answers everything as before', async () => {
  const { folder, run, answers } = await setUp()
  const first = 'sqlite:first.db'
  folder.write('gw.yaml', FIRST)
  expect(await run('apply --yes --skip-probe', first)).toMatchObject({ exit: 0 })
  folder.write('gw.yaml', SECOND)
  expect(await run('apply --yes --skip-probe', first)).toMatchObject({ exit: 0 })
  expect(await run('keys issue app', first)).toMatchObject({ exit: 0 })
  expect(
    await run('users create ada --role admin --password -', first, 'a long enough password\n'),
  ).toMatchObject({
    exit: 0,
  })
  expect(await run('wallet credit blue 10 --reference invoice-1', first)).toMatchObject({ exit: 0 })
  const atMs = Date.now() - 60_000
  await write(
    folder.at('first.db'),
    ['req_0123456789abcdef01234567', 'of-another-gateway'].flatMap(id =>
      billed({ id, atMs, amountNano: 2_500_000n }),
    ),
  )

  const { url } = await emptyDatabase(onTestFinished)
  const copied = await run(`store copy ${first} ${url}`, first)
  expect(copied).toMatchObject({ exit: 0, stderr: '' })
  expect(JSON.parse(copied.stdout)).toMatchObject({ revision: 2 })
  const before = await answers(first)
  expect(await answers(url)).toEqual(before)

  expect(await run(`store copy ${url} sqlite:second.db`, first)).toMatchObject({ exit: 0 })
  expect(await answers('sqlite:second.db')).toEqual(before)

  // Both go on from there.
  expect(await run('wallet credit blue 5 --reference invoice-2', url)).toMatchObject({ exit: 0 })
  expect(await run('keys create more --kind platform --issue', url)).toMatchObject({ exit: 0 })
  expect(await run('ledger verify', url)).toMatchObject({ exit: 0 })
  expect(await run('wallet credit blue 5 --reference invoice-2', 'sqlite:second.db')).toMatchObject({
    exit: 0,
  })
  expect(await run('ledger verify', 'sqlite:second.db')).toMatchObject({ exit: 0 })

  const again = await run(`store copy ${first} ${url}`, first)
  expect(again).toMatchObject({ exit: 4, stdout: expect.stringContaining('is not empty') })
})

test('no gateway joins the database that is being copied', async () => {
  const { folder, run } = await setUp()
  const { url } = await emptyDatabase(onTestFinished)
  folder.write('gw.yaml', FIRST)
  expect(await run('apply --yes --skip-probe', url)).toMatchObject({ exit: 0 })
  let joined: string | undefined
  await transferStore(url, 'sqlite:copy.db', {
    clock: systemClock,
    folder: folder.path,
    signal: new AbortController().signal,
    // The copy goes on when the other process has ended.
    onProgress: () => {
      joined ??= execFileSync(process.execPath, ['--input-type=module', '-e', JOINING, url], {
        encoding: 'utf8',
      })
    },
  })
  expect(joined).toBe(LOCK_NOT_AVAILABLE)
})
