import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { type TempDir, tempDir } from '../support/temp-dir.ts'
import { type TestClock, testClock } from '../support/test-clock.ts'
import { gw } from './in-process.ts'
import { FIRST } from './sample-tree.ts'

let dir: TempDir
let clock: TestClock
const run = (line: string, world: Partial<Parameters<typeof gw>[1]> = {}) =>
  gw(line.split(' '), { cwd: dir.path, clock, ...world })
const json = async (line: string) => JSON.parse((await run(`${line} --format json`)).stdout)

beforeEach(async () => {
  dir = tempDir(onTestFinished)
  clock = testClock()
  dir.write(
    'gw.yaml',
    `${FIRST.trimEnd()}\n  brought: { kind: platform, hash: "sha256:${'0'.repeat(64)}" }\n`,
  )
  expect((await run('apply --yes --skip-probe')).exit).toBe(0)
})

describe('gw keys create', () => {
  it('makes a key with all of its policy, as a revision of the command line', async () => {
    const { exit, stdout, stderr } = await run(
      'keys create trial --tenant blue --models chat,gpt-* --rpm 60 --tpm 1000 --concurrency 2 --quota 5000' +
        ' --budget 12.5/month --timezone Europe/Berlin --expires 90d --display-name Trial',
      { environment: { USER: 'ann' } },
    )
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' })
    expect(stdout).toBe('Key trial created: revision 2. `gw keys issue trial` generates its secret.\n')
    await expect((await run('keys show trial')).stdout).toMatchFileSnapshot('golden/keys-create-show.txt')
    expect(await json('keys show trial')).toMatchObject({ owner: 'cli', state: 'no_secret' })
  })

  it('prints the secret alone on stdout with --issue, and what to know on stderr', async () => {
    const { exit, stdout, stderr } = await run('keys create bot --kind platform --issue')
    expect(exit).toBe(0)
    expect(stdout).toMatch(/^gw_[0-9A-Za-z]{46}\n$/)
    expect(stderr).toBe(
      'Key bot created: revision 2.\nThe secret of bot, shown only once: the store keeps its hash.\n',
    )
    expect(await json('keys show bot')).toMatchObject({ state: 'active', kind: 'platform' })
  })

  it('tells programs the revision, or the secret', async () => {
    expect(await json('keys create a --kind platform')).toMatchObject({ name: 'a', created_revision: 2 })
    expect(await json('keys create b --kind platform --issue')).toEqual({
      key: 'b',
      secret: expect.stringMatching(/^gw_\w{46}$/),
    })
  })

  it('is left alone by apply, and shown as such', async () => {
    await run('keys create bot --kind platform')
    const { exit, stdout } = await run('apply --yes --skip-probe')
    expect(exit).toBe(0)
    expect(stdout).toContain('Not managed here: 1 created with the command line.')
    expect((await run('keys show bot')).exit).toBe(0)
  })

  it('warns of a model that no publication has', async () => {
    const { exit, stderr } = await run('keys create bot --kind platform --models chta,gpt-*')
    expect(exit).toBe(0)
    expect(stderr).toBe('warning no publication is named chta.\n')
  })

  it.each<[string, string, number, RegExp]>([
    ['neither a tenant nor a kind', 'x', 64, /--tenant NAME, or --kind platform/],
    ['a tenant key without its tenant', 'x --kind tenant', 64, /tenant: a key of kind `tenant` names/],
    ['a platform key with a tenant', 'x --kind platform --tenant blue', 64, /tenant: .* has no tenant/],
    ['an unknown tenant', 'x --tenant blu', 4, /GW4005: There is no tenant blu\.\n.*Did you mean blue\?/],
    ['a taken name', 'app --kind platform', 4, /GW4013: .*the set shop \(gw\.yaml:\d+\)/],
    ['a name that is none', '-- --kind', 64, /--tenant NAME/],
    ['a malformed name', 'x! --kind platform', 64, /The name x!: letters, digits/],
    ['no number', 'x --kind platform --rpm many', 64, /whole number, 1 or more/],
    ['nothing for a limit', 'x --kind platform --quota 0', 64, /whole number, 1 or more/],
    ['no budget', 'x --kind platform --budget 50', 64, /AMOUNT\/PER/],
    ['a budget too fine', 'x --kind platform --budget 0.0000000001/day', 64, /budget\.amount: at most nine/],
    ['a zone that is none', 'x --kind platform --budget 1/day --timezone Mars', 64, /Europe\/Berlin/],
    ['a zone without a budget', 'x --kind platform --timezone UTC', 64, /--budget AMOUNT\/PER/],
    ['a moment that is none', 'x --kind platform --expires soon', 64, /`--expires soon` is not a time/],
    ['the past', 'x --kind platform --expires 2020-01-01', 64, /is in the past/],
  ])('rejects %s', async (_what, words, exit, message) => {
    const ended = await run(`keys create ${words}`)
    expect({ exit: ended.exit, stdout: ended.stdout }).toEqual({ exit, stdout: '' })
    expect(ended.stderr).toMatch(message)
    expect((await json('keys list')).data).toHaveLength(2)
  })
})

describe('gw keys revoke', () => {
  it('ends every secret at once, also those in the grace of a rotation, and leaves the policy', async () => {
    await run('keys issue app')
    await run('keys rotate app --grace 24h')
    const { exit, stdout } = await run('keys revoke app')
    expect(exit).toBe(0)
    expect(stdout).toBe('Key app: 2 secrets revoked. `gw keys issue app` generates a new one.\n')
    expect(await json('keys show app')).toMatchObject({
      state: 'no_secret',
      secret: { active: 0 },
      owner: 'config',
      set: 'shop',
      file: 'gw.yaml',
    })
    expect((await run('diff --exit-code')).exit).toBe(0)
    expect((await run('keys issue app')).exit).toBe(0)
  })

  it('says so where there was nothing to end', async () => {
    expect((await run('keys revoke app')).stdout).toBe('Key app had no active secret.\n')
    expect(await json('keys revoke app')).toEqual({ key: 'app', secrets: 0, suspended: false })
  })

  it('disables a key whose secret the configuration brings along', async () => {
    const { exit, stdout } = await run('keys revoke brought')
    expect(exit).toBe(0)
    expect(stdout).toContain('Key brought is disabled')
    expect(stdout).toContain('gw keys enable brought')
    expect(await json('keys show brought')).toMatchObject({ state: 'suspended' })
  })

  it('keeps a key disabled that was disabled manually', async () => {
    await run('keys issue app')
    await run('keys disable app')
    expect(await json('keys revoke app')).toEqual({ key: 'app', secrets: 1, suspended: false })
    expect(await json('keys show app')).toMatchObject({ state: 'suspended' })
  })

  it('names the key that was meant', async () => {
    const { exit, stderr } = await run('keys revoke ap')
    expect(exit).toBe(4)
    expect(stderr).toContain('Did you mean app?')
  })
})

describe('gw keys delete', () => {
  it('deletes a key that the command line made, with its secrets', async () => {
    await run('keys create bot --kind platform --issue')
    expect(await json('keys delete bot --yes')).toEqual({ revision: 3 })
    expect((await run('keys show bot')).exit).toBe(4)
    await run('keys create bot --kind platform')
    expect(await json('keys show bot')).toMatchObject({ state: 'no_secret' })
  })

  it('shows the key and asks first, and nothing happens without a yes', async () => {
    await run('keys create bot --kind platform')
    const { exit, stderr } = await run('keys delete bot', { terminal: 100, stdin: 'n\n' })
    expect(exit).toBe(4)
    expect(stderr).toContain('Delete the key bot? [y/N]')
    expect(stderr).toContain('managed by')
    expect((await run('keys delete bot --no-input')).stderr).toContain('GW4002')
    expect((await run('keys show bot')).exit).toBe(0)
  })

  it('rejects one that a file declares: it names the line to edit', async () => {
    const { exit, stdout, stderr } = await run('keys delete app --yes')
    expect({ exit, stdout }).toEqual({ exit: 4, stdout: '' })
    await expect(stderr).toMatchFileSnapshot('golden/keys-delete-declared.stderr.txt')
  })
})
