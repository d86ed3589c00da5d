import { mkdirSync } from 'node:fs'
import { expect, onTestFinished, test, vi } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { Connection } from '../../src/store/connection.ts'
import { MIGRATION_NAMES } from '../../src/store/migrations/names.ts'
import { makeBaselineStore } from '../support/baseline-store.ts'
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
migrate
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
  mkdirSync(folder.at('data'))
  await makeBaselineStore(folder.at('data/gw.db'))
  expect((await apply()).stderr).toContain(
    `Converting the store for this version of gw (${MIGRATION_NAMES.length - 1} steps): a million calls take half a minute.\n`,
  )
  expect((await apply()).stderr).toBe('')
})
