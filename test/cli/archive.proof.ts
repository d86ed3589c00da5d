import { setTimeout } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { LedgerRows } from '../../src/store/ledger/ledger-rows.ts'
import { type TempDir, tempDir } from '../support/temp-dir.ts'
import { gwProcess, startGw } from './process.ts'
import { FIRST } from './sample-tree.ts'
import { billed } from './traffic.ts'

const CALLS = 30_000
const JUNE_MS = Date.UTC(2026, 5, 1)
const RUNS = 8
const LIMIT_MS = 240_000

async function storeOf(calls: number): Promise<TempDir> {
  const dir = tempDir(onTestFinished)
  dir.write('gw.yaml', FIRST)
  expect((await gwProcess(['apply', '--yes', '--skip-probe'], { cwd: dir.path })).exit).toBe(0)
  const raw = new Database(dir.at('data/gw.db'))
  const rows = Array.from({ length: calls }, (_, at) => billed({ id: `r${at}`, atMs: JUNE_MS + at * 60_000 }))
  new LedgerRows(raw).write(rows.flat())
  raw.close()
  return dir
}

/** Ends of calls in the table, above the last archive, and in archives. */
function countCalls(dir: TempDir): { readonly live: number; readonly archived: number } {
  const raw = new Database(dir.at('data/gw.db'), { readonly: true })
  const one = (query: string) => raw.prepare<[], number | null>(query).pluck().get() ?? 0
  const live = one('select count(*) from ledger where id > (select coalesce(max(last_id), 0) from archives)')
  const archived = one('select sum(entries) from archives')
  raw.close()
  return { live, archived }
}

test('kill -9 at any moment of an archive: each call is in the ledger or in the archive, once', {
  timeout: LIMIT_MS,
}, async () => {
  const dir = await storeOf(CALLS)
  const archive = ['ledger', 'archive', '--before', '2026-07']
  for (let run = 0; run < RUNS; run++) {
    const { archived } = countCalls(dir)
    // Until there is an archive, the moment moves through its writing and verification; then through the deletion.
    const afterMs = archived === 0 ? 200 + 200 * run : 250 + 20 * run
    const { child, ended } = startGw([...archive, `run-${run}.gz`], { cwd: dir.path })
    await Promise.race([ended, setTimeout(afterMs)])
    child.kill('SIGKILL')
    await ended
    const counted = countCalls(dir)
    expect(counted.live + counted.archived).toBe(CALLS)
    expect(await gwProcess(['ledger', 'verify'], { cwd: dir.path })).toMatchObject({ exit: 0, stderr: '' })
  }
  expect(await gwProcess([...archive, 'last.gz'], { cwd: dir.path })).toMatchObject({ exit: 0, stderr: '' })
  const { stdout } = await gwProcess(['ledger', 'archives', '--format', 'json'], { cwd: dir.path })
  const [{ entries, file }] = (JSON.parse(stdout) as { data: [{ entries: number; file: string }] }).data
  expect(entries).toBe(CALLS - 1)
  const verified = await gwProcess(['ledger', 'verify', '--archive', file], { cwd: dir.path })
  expect(verified.stdout).toBe(`Checked ${CALLS} entries, 0 open holds, 1 account: all sums match.\n`)
})

test('a gateway writes its bills while entries are archived', { timeout: LIMIT_MS }, async () => {
  const dir = await storeOf(CALLS)
  const raw = new Database(dir.at('data/gw.db'), { timeout: 0 })
  const book = new LedgerRows(raw)
  const { ended } = startGw(['ledger', 'archive', '--before', '2026-07', 'june.gz'], { cwd: dir.path })
  const over = ended.then(() => true)
  let written = 0
  while (!(await Promise.race([over, setTimeout(20, false)]))) {
    // Throws if it has to wait for longer than a second.
    book.write(billed({ id: `new-${written++}`, atMs: JUNE_MS + 40 * 86_400_000 }))
  }
  raw.close()
  expect(await ended).toMatchObject({ exit: 0, stderr: '' })
  expect(written).toBeGreaterThan(20)
  const verified = await gwProcess(['ledger', 'verify', '--archive', 'june.gz'], { cwd: dir.path })
  expect(verified).toMatchObject({ exit: 0, stderr: '' })
})
