import Database from 'better-sqlite3'
import { expect, onTestFinished, test, vi } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { Connection } from '../../src/store/connection.ts'
import { tempDir } from '../support/temp-dir.ts'
import { gw } from './in-process.ts'
import { FIRST } from './sample-tree.ts'

/** The commands that use a store, in this order in one folder. */
const COMMANDS = `diff
plan -o saved.gwplan
apply --yes --skip-probe
apply --yes --skip-probe
apply --dry-run
plan -o again.gwplan
apply again.gwplan --yes
keys create bot --kind platform --issue
keys issue app
keys list
keys show app
keys rotate app
keys disable app
keys enable app
keys revoke app
keys delete bot --yes
wallet credit blue 10 --reference a
wallet entries blue
usage
logs
history
show 1
export
rollback 1 --yes
rollback 1 --dry-run
maintenance on
maintenance status
users create ada --role admin --password -
users list
users disable ada
tokens list
ledger verify
ledger archive --before 2020-01 old.jsonl.gz
ledger archives
probe --timeout 1s
why --key app
status
top --count 1
test
doctor
completion names keys`.split('\n')

test('a command opens the store once', async () => {
  const folder = tempDir(onTestFinished)
  folder.write('gw.yaml', FIRST)
  folder.write('gw.test.yaml', 'version: 1\ntests:\n  - { key: app, may_call: chat }\n')
  const opened = vi.spyOn(Connection, 'open')
  onTestFinished(() => opened.mockRestore())
  const counts: (readonly [string, number])[] = []
  for (const command of COMMANDS) {
    opened.mockClear()
    await gw(command.split(' '), {
      cwd: folder.path,
      clock: systemClock,
      stdin: 'a long enough password 42\n',
    })
    // A store that does not exist yet is looked for once, and then created.
    const successes = opened.mock.settledResults.filter(({ type }) => type === 'fulfilled')
    counts.push([command, successes.length])
  }
  expect(counts.filter(([, count]) => count > 1)).toEqual([])
  expect(counts.filter(([, count]) => count === 1).length).toBeGreaterThan(30)
})

test('a command that converts the store of an older gw says so, once', async () => {
  const folder = tempDir(onTestFinished)
  folder.write('gw.yaml', FIRST)
  const apply = () => gw(['apply', '--yes', '--skip-probe'], { cwd: folder.path, clock: systemClock })
  expect((await apply()).stderr).not.toContain('Converting')
  const raw = new Database(folder.at('data/gw.db'))
  raw.exec(`drop table login_links; delete from kysely_migration where name = '0011-login-links'`)
  raw.close()
  expect((await apply()).stderr).toBe(
    'Converting the store for this version of gw (1 step): a million calls take half a minute.\n',
  )
  expect((await apply()).stderr).toBe('')
})
