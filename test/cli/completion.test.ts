import { spawnSync } from 'node:child_process'
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { storeOfFolder } from '../support/store-of-folder.ts'
import { tempDir } from '../support/temp-dir.ts'
import { gw } from './in-process.ts'
import { FIRST } from './sample-tree.ts'

const GW = fileURLToPath(new URL('../../bin/gw.js', import.meta.url))
const dir = tempDir(afterAll)
let store: string

beforeAll(async () => {
  store = await storeOfFolder(dir.path)
  dir.write('gw.yaml', FIRST)
  dir.write('bin/gw', `#!/bin/sh\nexec '${process.execPath}' '${GW}' "$@"\n`)
  chmodSync(join(dir.path, 'bin/gw'), 0o755)
  expect((await gw(['apply', '--yes', '--skip-probe'], { cwd: dir.path })).exit).toBe(0)
  for (const shell of ['bash', 'zsh', 'fish']) {
    dir.write(`gw.${shell}`, (await gw(['completion', shell], { cwd: dir.path })).stdout)
  }
})

function run(shell: string, words: readonly string[]) {
  const env = { PATH: `${join(dir.path, 'bin')}:${process.env['PATH']}`, HOME: dir.path, GW_STORE: store }
  return spawnSync(shell, words, { cwd: dir.path, env, encoding: 'utf8' })
}

const isInstalled = (shell: string) => spawnSync(shell, ['--version']).error === undefined

/** What bash would offer for the last word of a line. */
function bash(line: string): readonly string[] {
  const script =
    'source gw.bash; COMP_LINE=$1 COMP_POINT=${#1}; _gw 2> /dev/null; printf "%s\\n" "${COMPREPLY[@]}"'
  const { stdout, status } = run('bash', ['--norc', '-c', script, 'bash', line])
  expect(status).toBe(0)
  return stdout.split('\n').filter(word => word !== '')
}

describe('bash', () => {
  it.each<[string, string[]]>([
    ['gw val', ['validate']],
    ['gw keys rot', ['rotate']],
    ['gw keys list --exp', ['--expiring']],
    ['gw --format ', ['text', 'json', 'github', 'junit']],
    ['gw diff --format=js', ['json']],
    ['gw usage --by da', ['day']],
    ['gw --store sqlite:x keys iss', ['issue']],
    ['gw completion names ', ['keys', 'models', 'endpoints', 'nodes', 'tenants', 'revisions', 'fields']],
    ['gw -c gw.y', ['gw.yaml']],
    ['gw wallet nothing-such', []],
  ])('completes `%s`', (line, words) => {
    expect(bash(line)).toEqual(words)
  })

  it('offers every verb, and the flags of a verb only where one is begun', () => {
    const verbs = bash('gw ')
    expect(verbs).toEqual(expect.arrayContaining(['validate', 'apply', 'explain', 'completion']))
    expect(verbs.filter(word => word.startsWith('-'))).toEqual([])
    expect(bash('gw apply --')).toEqual(expect.arrayContaining(['--dry-run', '--yes', '--help']))
  })

  it('knows the names that stand in the store', () => {
    expect(bash('gw keys show ')).toEqual(['app'])
    expect(bash('gw logs --key a')).toEqual(['app'])
    expect(bash('gw probe ')).toEqual(expect.arrayContaining(['fast', 'slow']))
  })

  it('knows fields, codes and revisions', () => {
    expect(bash('gw explain endpoint.timeouts.f')).toEqual(['endpoint.timeouts.first_byte'])
    expect(bash('gw explain GW130')).toContain('GW1302')
    expect(bash('gw show ')).toEqual(['1'])
    expect(bash('gw rollback ')).toEqual(['1'])
  })

  it('says nothing where there is no store', () => {
    const { stdout, status } = run('bash', [
      '--norc',
      '-c',
      'source gw.bash; cd /; GW_STORE=sqlite:./none.db COMP_LINE="gw keys show " COMP_POINT=13; export GW_STORE; _gw; echo "${#COMPREPLY[@]}"',
    ])
    expect({ stdout, status }).toEqual({ stdout: '0\n', status: 0 })
  })
})

describe.runIf(isInstalled('zsh'))('zsh', () => {
  it('reads the script', () => {
    expect(run('zsh', ['-n', 'gw.zsh']).status).toBe(0)
  })
})

describe.runIf(isInstalled('fish'))('fish', () => {
  it('completes commands, values and names', () => {
    const fish = (line: string) =>
      run('fish', ['--no-config', '-c', `source gw.fish; complete -C '${line}'`]).stdout
    expect(fish('gw keys rot')).toMatch(/^rotate\t/)
    expect(fish('gw usage --by da')).toMatch(/^day\t/)
    expect(fish('gw keys show a')).toMatch(/^app/)
  })
})
