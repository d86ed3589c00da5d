import { describe, expect, it, onTestFinished } from 'vitest'
import { makeProgram } from '../../src/cli/program.ts'
import { tempDir } from '../support/temp-dir.ts'
import { gw } from './in-process.ts'

const run = (words: readonly string[]) => gw(words, { cwd: tempDir(onTestFinished).path })

describe('help', () => {
  it.each([
    ['gw', ['--help']],
    ['gw-validate', ['validate', '--help']],
    ['gw-diff', ['diff', '-h']],
    ['gw-apply', ['help', 'apply']],
    ['gw-export', ['export', '--help']],
    ['gw-probe', ['probe', '--help']],
    ['gw-keys', ['keys', '--help']],
    ['gw-keys-rotate', ['keys', 'rotate', '--help']],
    ['gw-keys-create', ['keys', 'create', '--help']],
    ['gw-keys-list', ['keys', 'list', '--help']],
    ['gw-keys-revoke', ['keys', 'revoke', '--help']],
    ['gw-keys-delete', ['keys', 'delete', '--help']],
    ['gw-why', ['why', '--help']],
    ['gw-test', ['test', '--help']],
    ['gw-wallet', ['wallet', '--help']],
    ['gw-wallet-credit', ['wallet', 'credit', '--help']],
    ['gw-usage', ['usage', '--help']],
    ['gw-logs', ['logs', '--help']],
    ['gw-ledger-verify', ['ledger', 'verify', '--help']],
    ['gw-node', ['node', '--help']],
    ['gw-node-join', ['node', 'join', '--help']],
    ['gw-nodes', ['nodes', '--help']],
    ['gw-nodes-token', ['nodes', 'token', '--help']],
    ['gw-maintenance', ['maintenance', '--help']],
    ['gw-maintenance-on', ['maintenance', 'on', '--help']],
    ['gw-users', ['users', '--help']],
    ['gw-users-create', ['users', 'create', '--help']],
    ['gw-status', ['status', '--help']],
    ['gw-top', ['top', '--help']],
    ['gw-init', ['init', '--help']],
    ['gw-doctor', ['doctor', '--help']],
    ['gw-import-litellm', ['import', 'litellm', '--help']],
    ['gw-explain', ['explain', '--help']],
    ['gw-schema', ['schema', '--help']],
    ['gw-completion', ['completion', '--help']],
    ['gw-demo-upstream', ['demo-upstream', '--help']],
  ])('of %s goes to stdout and leads with an example', async (name, words) => {
    const { exit, stdout, stderr } = await run(words)
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' })
    expect(stdout).toMatch(/^Examples?:\n {2}gw /)
    if (name !== 'gw') await expect(stdout).toMatchFileSnapshot(`golden/help/${name}.txt`)
  })

  it('is one JSON document where JSON is asked for', async () => {
    const { exit, stdout } = await run(['apply', '--help', '--format', 'json'])
    expect(exit).toBe(0)
    expect(JSON.parse(stdout).help).toMatch(/^Examples:\n/)
  })

  it('is shown for a command that lacks its verb, on stderr, as wrong usage', async () => {
    for (const words of [[], ['keys'], ['wallet'], ['ledger']]) {
      const { exit, stdout, stderr } = await run(words)
      expect({ exit, stdout }).toEqual({ exit: 64, stdout: '' })
      expect(stderr).toMatch(/^Examples?:\n[\s\S]*error GW6001: A command is missing\.\n/)
    }
  })
})

describe('--version', () => {
  it('prints the version alone', async () => {
    expect((await run(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
    expect(JSON.parse((await run(['-V', '--format=json'])).stdout)).toEqual({
      version: expect.stringMatching(/^\d+\./),
    })
  })

  it('loads no command, which would take half a second', async () => {
    const commandsFor = async (...words: readonly string[]) => {
      const program = await makeProgram(() => async () => undefined, { out: '', err: '' }, undefined, words)
      return program.commands.map(command => command.name())
    }
    expect(await commandsFor('--version')).toEqual([])
    expect(await commandsFor('logs', '--version')).toEqual(['logs'])
  })
})

describe('wrong usage', () => {
  it.each<[string, string[], string, string]>([
    ['an unknown command', ['aply'], "Unknown command 'aply'.", 'Did you mean apply?'],
    ['an unknown command of a group', ['keys', 'isue'], "Unknown command 'isue'.", 'Did you mean issue?'],
    ['an unknown flag', ['diff', '--exitcode'], "Unknown option '--exitcode'.", 'Did you mean --exit-code?'],
    ['a flag of another command', ['diff', '--yess'], "Unknown option '--yess'.", 'Did you mean --yes?'],
    ['a missing argument', ['keys', 'show'], "Missing required argument 'name'.", 'gw --help'],
    ['an unknown format', ['diff', '--format', 'xml'], 'xml', 'gw --help'],
    ['a format of another command', ['apply', '--format', 'github'], '`gw apply` supports only', 'gw --help'],
    [
      'a path without its flag',
      ['validate', '-c', 'a.yaml', 'b.yaml'],
      'Too many arguments',
      '`-c a.yaml -c b.yaml`',
    ],
    ['no configuration', ['diff'], 'neither ./gw.yaml nor ./config', '-c PATH'],
    ['a wrong address', ['demo-upstream', '--listen', 'nowhere'], '`--listen nowhere`', '127.0.0.1:9101'],
  ])('exits 64 for %s and says what is right', async (_what, words, message, hint) => {
    const text = await run(words)
    expect({ exit: text.exit, stdout: text.stdout }).toEqual({ exit: 64, stdout: '' })
    expect(text.stderr).toMatch(/^error GW6001: /)
    expect(text.stderr).toContain(message)
    expect(text.stderr).toContain(hint)
    if (words.includes('--format')) return
    const json = await run([...words, '--format', 'json'])
    expect({ exit: json.exit, stderr: json.stderr }).toEqual({ exit: 64, stderr: '' })
    const { error } = JSON.parse(json.stdout)
    expect(error.code).toBe('GW6001')
    expect(error.message).toContain(message)
    expect(error.hint).toContain(hint)
  })
})
