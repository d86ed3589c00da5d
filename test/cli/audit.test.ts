import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { OPERATION_IDS } from '../../src/schema/api/operations.ts'
import { openStore } from '../../src/store/open.ts'
import { storeOfFolder } from '../support/store-of-folder.ts'
import { tempDir } from '../support/temp-dir.ts'
import { gw } from './in-process.ts'

const TREE = `version: 1
endpoints: { e: { protocol: openai, base_url: "http://127.0.0.1:9/v1", served_model: m, skip_probe: true } }
publications: { m: { bindings: [{ endpoint: e }] } }
tenants: { acme: {} }
keys: { k: { kind: platform } }
`

/** Each command that changes something, its input, and what the audit says of it. A new one is a line here. */
const DEEDS: readonly (readonly [
  command: string,
  stdin: string,
  ...lines: readonly { readonly action: string; readonly target?: string; readonly revision?: number }[],
])[] = [
  ['apply --yes', '', { action: 'apply_config', target: 'set/default', revision: 1 }],
  ['keys issue k', '', { action: 'issue_key', target: 'key/k' }],
  ['keys rotate k', '', { action: 'rotate_key', target: 'key/k' }],
  ['keys disable k', '', { action: 'disable_key', target: 'key/k' }],
  ['keys disable k', ''],
  ['keys enable k', '', { action: 'enable_key', target: 'key/k' }],
  ['keys enable k', ''],
  ['keys revoke k --yes', '', { action: 'revoke_key', target: 'key/k' }],
  ['keys revoke k --yes', ''],
  [
    'keys create own --tenant acme --issue',
    '',
    { action: 'create_key', target: 'key/own', revision: 2 },
    { action: 'issue_key', target: 'key/own' },
  ],
  ['keys delete own --yes', '', { action: 'delete_key', target: 'key/own', revision: 3 }],
  ['wallet credit acme 5 --reference a', '', { action: 'credit_wallet', target: 'tenant/acme' }],
  ['wallet credit acme 5 --reference a', ''],
  ['wallet debit acme 1 --reference b', '', { action: 'debit_wallet', target: 'tenant/acme' }],
  ['wallet adjust acme 1 --reference c', '', { action: 'adjust_wallet', target: 'tenant/acme' }],
  ['maintenance on', '', { action: 'set_maintenance', target: 'maintenance/on' }],
  ['maintenance on', ''],
  ['maintenance off', '', { action: 'set_maintenance', target: 'maintenance/off' }],
  ['maintenance off', ''],
  [
    'users create ada --role admin --password -',
    'correct horse',
    { action: 'create_user', target: 'user/ada' },
  ],
  [
    'users create bob --role admin --password -',
    'correct horse',
    { action: 'create_user', target: 'user/bob' },
  ],
  ['users disable bob', '', { action: 'update_user', target: 'user/bob' }],
  ['users disable bob', ''],
  ['users enable bob', '', { action: 'update_user', target: 'user/bob' }],
  ['rollback 2 --yes', '', { action: 'roll_back', target: 'revision/2', revision: 4 }],
]

test('each command that changes something leaves a line: who, what, and the revision that it made; one that changes nothing leaves none', async () => {
  const folder = tempDir(onTestFinished)
  folder.write('gw.yaml', TREE)
  const world = { cwd: folder.path, environment: { USER: 'ann' } }
  for (const [command, stdin] of DEEDS) {
    const { exit, stderr } = await gw(command.split(' '), { ...world, stdin })
    expect(exit, `${command}: ${stderr}`).toBe(0)
  }
  // What only asks leaves none.
  for (const asking of ['keys list', 'export', 'diff', 'apply --yes', 'wallet show acme', 'history'])
    await gw(asking.split(' '), world)
  const clock = systemClock
  const store = await openStore(await storeOfFolder(folder.path), {
    mode: 'read',
    clock,
    folder: folder.path,
  })
  onTestFinished(() => store.close())
  const lines = (await store.users.audit({ limit: 500 })).toReversed()
  const expected = DEEDS.flatMap(([, , ...deeds]) => deeds)
  expect(lines.map(({ id: _id, atMs: _atMs, ...line }) => line)).toEqual(
    expected.map(deed => ({ user: 'ann', role: 'operator', origin: 'cli', ...deed })),
  )
  // A deed is called the same, whichever way it is done; `adjust` has no operation.
  const operations: readonly string[] = OPERATION_IDS
  expect(expected.map(({ action }) => action).filter(action => !operations.includes(action))).toEqual([
    'adjust_wallet',
  ])
})
