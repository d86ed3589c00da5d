import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import type * as opening from '../../src/store/open.ts'
import { tempDir } from '../support/temp-dir.ts'
import { FIRST } from './sample-tree.ts'

const opens: string[] = []
vi.mock('../../src/store/open.ts', async original => {
  const real = await original<typeof opening>()
  return {
    ...real,
    async openStore(...given: Parameters<typeof real.openStore>) {
      const store = await real.openStore(...given)
      opens.push(given[1].mode)
      return store
    },
  }
})
const { gw } = await import('./in-process.ts')

beforeEach(() => {
  opens.length = 0
})

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
  const counts: (readonly [string, number])[] = []
  for (const command of COMMANDS) {
    opens.length = 0
    await gw(command.split(' '), {
      cwd: folder.path,
      clock: systemClock,
      stdin: 'a long enough password 42\n',
    })
    counts.push([command, opens.length])
  }
  expect(counts.filter(([, count]) => count > 1)).toEqual([])
  expect(counts.filter(([, count]) => count === 1).length).toBeGreaterThan(30)
})
