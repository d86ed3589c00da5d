import { EventEmitter } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { type TempDir, tempDir } from '../support/temp-dir.ts'
import { gw } from './in-process.ts'
import { FIRST, SECOND } from './sample-tree.ts'

let dir: TempDir
const run = (line: string, world: Omit<Parameters<typeof gw>[1], 'cwd'> = {}) =>
  gw(line.split(' '), { cwd: dir.path, ...world })

beforeEach(() => {
  dir = tempDir(onTestFinished)
  dir.write('gw.yaml', FIRST)
})

describe('gw diff', () => {
  it('shows against an empty store all that would be created, by what the files say and not by defaults', async () => {
    const { exit, stdout, stderr } = await run('diff')
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' })
    await expect(stdout).toMatchFileSnapshot('golden/diff-first.txt')
  })

  it('creates no store', async () => {
    await run('diff')
    await run('apply --dry-run')
    expect(readdirSync(dir.path)).toEqual(['gw.yaml'])
  })

  it('shows field by field what changes, references to secrets only as changed, the verdict last', async () => {
    await run('apply --yes --skip-probe')
    dir.write('gw.yaml', SECOND)
    const { stdout } = await run('diff')
    expect(stdout.trimEnd().split('\n').at(-1)).toBe('1 to create, 3 to update, 1 to delete; breaks no key')
    expect(stdout).not.toMatch(/FAST_KEY|NEW_KEY/)
    await expect(stdout).toMatchFileSnapshot('golden/diff-second.txt')
  })

  it('tells programs the same as JSON', async () => {
    await run('apply --yes --skip-probe')
    dir.write('gw.yaml', SECOND)
    const { stdout, stderr } = await run('diff --format json')
    expect(stderr).toBe('')
    expect(JSON.parse(stdout).counts).toMatchObject({ create: 1, update: 3, delete: 1 })
    await expect(stdout).toMatchFileSnapshot('golden/diff-second.json.txt')
  })

  it('is coloured on a terminal', async () => {
    await run('apply --yes --skip-probe')
    dir.write('gw.yaml', SECOND)
    const { stdout } = await run('diff', { terminal: 100 })
    await expect(stdout).toMatchFileSnapshot('golden/diff-second.colour.txt')
  })

  it('ends with 2 where there are changes only if asked to', async () => {
    expect((await run('diff')).exit).toBe(0)
    expect((await run('diff --exit-code')).exit).toBe(2)
    await run('apply --yes --skip-probe')
    expect((await run('diff --exit-code')).exit).toBe(0)
  })

  it('shows the problems of files that are not valid on stderr, and exits 3', async () => {
    dir.write('gw.yaml', 'version: 1\nendpoints: { a: {} }\n')
    const { exit, stdout, stderr } = await run('diff --exit-code')
    expect({ exit, stdout }).toEqual({ exit: 3, stdout: '' })
    expect(stderr).toMatch(/^gw\.yaml:2:14 GW1203 error [\s\S]*error GW3001: .*3 errors in 1 file\.\n/)
  })

  it('names every resource that belongs to another set', async () => {
    await run('apply --yes --skip-probe')
    dir.write(
      'other.yaml',
      'version: 1\nset: other\ntenants: { blue: {}, green: {} }\npublications: { chat: {} }\n',
    )
    const { exit, stdout, stderr } = await run('diff -c other.yaml')
    expect({ exit, stdout }).toEqual({ exit: 4, stdout: '' })
    await expect(stderr).toMatchFileSnapshot('golden/diff-conflict.stderr.txt')
    const json = await run('diff -c other.yaml --format json')
    expect({ exit: json.exit, stderr: json.stderr }).toEqual({ exit: 4, stderr: '' })
    await expect(json.stdout).toMatchFileSnapshot('golden/diff-conflict.json.txt')
  })

  it('lets a set refer to what another set has', async () => {
    await run('apply --yes --skip-probe')
    dir.write(
      'other.yaml',
      'version: 1\nset: other\npublications: { more: { bindings: [{ endpoint: slow }] } }\n',
    )
    expect((await run('apply -c other.yaml --yes --skip-probe')).exit).toBe(0)
    dir.write('gw.yaml', SECOND)
    const { exit, stderr } = await run('diff')
    expect(exit).toBe(4)
    expect(stderr).toContain('GW4010')
    expect(stderr).toContain('other.yaml:3')
  })
})

describe('gw apply', () => {
  it('shows the plan, applies it with --yes and prints the revision last', async () => {
    const { exit, stdout, stderr } = await run('apply --yes --skip-probe')
    expect({ exit, stderr }).toEqual({
      exit: 0,
      stderr: 'No gateway serves this store at the moment: `gw serve` starts one.\n',
    })
    await expect(stdout).toMatchFileSnapshot('golden/apply-first.txt')
  })

  it('prints one JSON document', async () => {
    const { exit, stdout, stderr } = await run('apply --yes --skip-probe --format json')
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' })
    expect(JSON.parse(stdout)).toMatchObject({ applied: true, revision: 1, plan: { counts: { create: 7 } } })
  })

  it('writes nothing where there is nothing to do', async () => {
    await run('apply --yes --skip-probe')
    const { exit, stdout } = await run('apply')
    expect(exit).toBe(0)
    expect(stdout.trimEnd().split('\n').at(-1)).toBe('Nothing to do: revision 1 stays.')
    expect(JSON.parse((await run('apply --format json')).stdout)).toMatchObject({
      applied: false,
      revision: 1,
    })
  })

  it('rejects without a terminal and without --yes, and creates nothing', async () => {
    const { exit, stdout, stderr } = await run('apply')
    expect(exit).toBe(4)
    expect(stdout).toContain('7 to create, 0 to update, 0 to delete\n')
    expect(stderr).toContain('error GW4002')
    expect(stderr).toContain('--yes')
    expect(existsSync(dir.at('data'))).toBe(false)
  })

  it('fails in JSON as it does in text, with one document', async () => {
    const { exit, stdout, stderr } = await run('apply --format json')
    expect(exit).toBe(4)
    expect(JSON.parse(stdout)).toHaveProperty('error.code', 'GW4002')
    expect(stderr, 'the plan is shown before the question').toContain('7 to create')
  })

  it('asks on a terminal, and takes yes for an answer', async () => {
    const { exit, stdout, stderr } = await run('apply --skip-probe', { terminal: 100, stdin: 'y\n' })
    expect(exit).toBe(0)
    expect(stderr).toContain('Apply these changes? [y/N]')
    expect(stdout.trimEnd().split('\n').at(-1)).toBe('Applied: revision 1.')
  })

  it.each(['n\n', '\n', 'yeah\n', ''])('takes %j for a no', async stdin => {
    const { exit, stderr } = await run('apply --skip-probe', { terminal: 100, stdin })
    expect(exit).toBe(4)
    expect(stderr).toContain('GW4003')
    expect(existsSync(dir.at('data'))).toBe(false)
  })

  it('does not ask with --no-input, nor after it has read stdin', async () => {
    expect((await run('apply --no-input', { terminal: 100 })).stderr).toContain('--no-input')
    expect((await run('apply -c -', { terminal: 100, stdin: FIRST })).stderr).toContain('GW4002')
  })

  it('is interrupted while it asks: nothing was changed, exit 130, one JSON document', async () => {
    const signals = new EventEmitter()
    const onTalk = (text: string) => {
      if (text.includes('[y/N]')) signals.emit('SIGINT')
    }
    const { exit, stdout } = await run('apply --skip-probe --format json', { terminal: 100, signals, onTalk })
    expect(exit).toBe(130)
    expect(JSON.parse(stdout)).toHaveProperty('error.code', 'GW9002')
    expect(existsSync(dir.at('data'))).toBe(false)
  })

  it('leaves no listener behind, so that a second signal ends the process at once', async () => {
    const signals = new EventEmitter()
    await run('validate', { signals })
    expect(signals.eventNames()).toEqual([])
    const onTalk = (text: string) => {
      if (!text.includes('[y/N]')) return
      signals.emit('SIGTERM')
      expect(signals.eventNames()).toEqual([])
    }
    expect((await run('apply --skip-probe', { terminal: 100, signals, onTalk })).exit).toBe(130)
  })

  it('notices that the configuration moved while it asked', async () => {
    await run('apply --yes --skip-probe')
    dir.write('gw.yaml', SECOND)
    dir.write('other.yaml', 'version: 1\nset: other\ntenants: { red: {} }\n')
    const { exit, stderr } = await run('apply --skip-probe', {
      terminal: 100,
      stdin: async () => {
        expect((await run('apply -c other.yaml --yes --skip-probe')).exit).toBe(0)
        return 'y\n'
      },
    })
    expect(exit).toBe(4)
    expect(stderr).toContain('error GW4001')
    expect((await run('diff --exit-code')).exit).toBe(2)
  })

  it('finishes what it was asked to do although its output is not read', async () => {
    const { exit } = await run('apply --yes --skip-probe', { stdoutFault: 'EPIPE' })
    expect(exit).toBe(0)
    expect((await run('diff --exit-code')).exit).toBe(0)
  })

  it('is not content where stdout cannot be written', async () => {
    const { exit, stderr } = await run('apply --yes --skip-probe', { stdoutFault: 'ENOSPC' })
    expect(exit).toBe(1)
    expect(stderr).toContain('ENOSPC')
  })

  it('rejects a store of an unknown kind without repeating its URL, which may hold a password', async () => {
    const { exit, stdout, stderr } = await run('diff --store mysql://root:hunter2@db/gw')
    expect({ exit, stdout }).toEqual({ exit: 64, stdout: '' })
    expect(stderr).not.toContain('hunter2')
  })

  it('takes the store from GW_STORE, and --store before it', async () => {
    const environment = { GW_STORE: 'sqlite:./from-environment.db' }
    expect((await run('apply --yes --skip-probe', { environment })).exit).toBe(0)
    expect((await run('apply --yes --skip-probe --store sqlite:./from-flag.db', { environment })).exit).toBe(
      0,
    )
    expect(readdirSync(dir.path).filter(name => name.endsWith('.db'))).toEqual([
      'from-environment.db',
      'from-flag.db',
    ])
  })
})
