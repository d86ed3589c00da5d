import { describe, expect, onTestFinished, test } from 'vitest'
import { keyDigest } from '../../src/base/api-key.ts'
import { systemClock } from '../../src/base/clock.ts'
import { openStore } from '../../src/store/open.ts'
import { storeOfFolder } from '../support/store-of-folder.ts'
import { tempDir } from '../support/temp-dir.ts'
import { gw, type World } from './in-process.ts'

const TREE = `version: 1
tenants:
  acme: {}
`

async function setUp() {
  const folder = tempDir(onTestFinished)
  folder.write('gw.yaml', TREE)
  const run = (words: string, more: Partial<World> = {}) =>
    gw(words.split(' '), { cwd: folder.path, environment: { USER: 'ann' }, ...more })
  expect((await run('apply --yes')).exit).toBe(0)
  const users = async () => {
    const store = await openStore(await storeOfFolder(folder.path), {
      mode: 'read',
      clock: systemClock,
      folder: folder.path,
    })
    onTestFinished(() => store.close())
    return store.users
  }
  return { run, users }
}

describe('gw users create', () => {
  test('reads the password from stdin, stores its hash alone, and notes who did it', async () => {
    const { run, users } = await setUp()
    const done = await run('users create ada --role admin --password -', { stdin: 'correct horse\n' })
    expect(done).toEqual({ exit: 0, stdout: 'User ada may log in as admin.\n', stderr: '' })
    const store = await users()
    expect((await store.credential('ada'))?.passwordHash).toMatch(
      /^scrypt\$32768\$8\$3\$[\w-]{22}\$[\w-]{43}$/,
    )
    expect(await store.audit({ limit: 1 })).toMatchObject([
      { user: 'ann', role: 'operator', origin: 'cli', action: 'create_user', target: 'user/ada' },
    ])
  })

  test('the first administrator may come before any configuration', async () => {
    const folder = tempDir(onTestFinished)
    const run = (words: string) => gw(words.split(' '), { cwd: folder.path, stdin: 'correct horse\n' })
    expect((await run('users create tom --tenant acme --password -')).stderr).toContain('GW2003')
    expect((await run('users create ada --role admin --password -')).exit).toBe(0)
    expect((await run('users list')).stdout).toContain('ada')
  })

  test('a link logs in once, and not after its time', async () => {
    const { run, users } = await setUp()
    await run('users create ada --role admin --password -', { stdin: 'correct horse\n' })
    const made = await run('users link ada --console http://localhost:9')
    expect(made.stdout).toMatch(/^http:\/\/localhost:9\/console\/#link=gwl_[\w-]{43}\n$/)
    const digest = keyDigest(made.stdout.trim().split('#link=')[1] ?? '')
    const read = await users()
    expect((await read.audit({ limit: 1 }))[0]).toMatchObject({
      action: 'create_login_link',
      target: 'user/ada',
    })
    expect(JSON.stringify(await read.audit({ limit: 9 }))).not.toContain('gwl_')
    expect(digest).toHaveLength(64)
    expect((await run('users link tom')).exit).toBe(4)
  })

  test('asks for it twice on a terminal, and never shows it', async () => {
    const { run } = await setUp()
    const done = await run('users create tom --tenant acme', {
      terminal: 80,
      stdin: 'correct hors\u{1f600}\u007fe\rcorrect horse\r',
    })
    expect(done).toEqual({
      exit: 0,
      stdout: 'User tom may log in as tenant acme.\n',
      stderr: 'New password: \nAgain: \n',
    })
  })

  test('rejects two that differ, one that is too short, Ctrl-C, and Ctrl-D on an empty line', async () => {
    const { run, users } = await setUp()
    const differ = await run('users create ada --role admin', {
      terminal: 80,
      stdin: 'one-two-three\rfour\r',
    })
    expect([differ.exit, differ.stderr]).toEqual([64, expect.stringContaining('The two passwords differ.')])
    const short = await run('users create ada --role admin --password -', { stdin: 'short\n' })
    expect([short.exit, short.stderr]).toEqual([
      64,
      expect.stringContaining('Invalid password: at least 8 characters.'),
    ])
    const left = await run('users create ada --role admin', { terminal: 80, stdin: 'one\u0003' })
    expect(left.exit).toBe(130)
    expect((await run('users create ada --role admin', { terminal: 80, stdin: '\u0004' })).exit).toBe(130)
    expect(await (await users()).users()).toEqual([])
  })

  test('takes no password from the command line, and does not repeat it', async () => {
    const { run } = await setUp()
    const done = await run('users create ada --role admin --password hunter2hunter2')
    expect([done.exit, done.stderr]).toEqual([64, expect.not.stringContaining('hunter2')])
  })

  test.each([
    ['users create ada --password -', 64, 'needs a role or a tenant'],
    ['users create ada --role tenant --password -', 64, 'names its tenant'],
    ['users create ada --role admin --tenant acme --password -', 64, 'has no tenant'],
    ['users create Ada --role admin --password -', 64, 'lower-case letters'],
    ['users create ada --tenant none --password -', 4, 'There is no tenant none.'],
    ['users create ada --role admin', 64, 'the input is not a terminal'],
    ['users reset-password ada --password -', 4, 'There is no user ada.'],
    ['users disable ada', 4, 'There is no user ada.'],
  ])('%s is rejected', async (words, exit, message) => {
    const { run } = await setUp()
    const done = await run(words, { stdin: 'correct horse\n' })
    expect([done.exit, done.stderr]).toEqual([exit, expect.stringContaining(message)])
  })
})

test('users are listed, disabled, enabled and given a new password', { timeout: 60_000 }, async () => {
  const { run, users } = await setUp()
  expect((await run('users list')).stderr).toContain('No users yet')
  await run('users create ada --role admin --password -', { stdin: 'correct horse' })
  await run('users create tom --tenant acme --password -', { stdin: 'correct horse' })
  expect((await run('users list')).stdout).toBe(
    'NAME  STATE    ROLE    TENANT  SESSIONS  LAST LOG-IN\n' +
      'ada   enabled  admin   -              0  -\n' +
      'tom   enabled  tenant  acme           0  -\n',
  )
  expect((await run('users disable tom')).stdout).toBe('User tom is disabled.\n')
  expect((await run('users disable tom')).stdout).toBe('User tom was disabled already.\n')
  const last = await run('users disable ada')
  expect([last.exit, last.stderr]).toEqual([4, expect.stringContaining('GW4017')])
  expect(JSON.parse((await run('users enable tom --format json')).stdout)).toMatchObject({
    name: 'tom',
    enabled: true,
  })
  const before = await (await users()).credential('tom')
  expect((await run('users reset-password tom --password -', { stdin: 'another horse' })).exit).toBe(0)
  expect((await (await users()).credential('tom'))?.passwordHash).not.toBe(before?.passwordHash)
  expect(JSON.parse((await run('users list --format json')).stdout).data).toMatchObject([
    { name: 'ada', role: 'admin', enabled: true, sessions: 0 },
    { name: 'tom', role: 'tenant', tenant: 'acme' },
  ])
})
