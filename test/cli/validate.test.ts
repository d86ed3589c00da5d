import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { tempDir } from '../support/temp-dir.ts'
import { gw } from './in-process.ts'
import { gwProcess } from './process.ts'
import { CANARY, MISTAKES, writeTenMistakes } from './ten-mistakes.ts'

const SEALED = new URL('sealed.mjs', import.meta.url).href
const UNREADABLE_FOLDER = new URL('unreadable-folder.mjs', import.meta.url).href
const VALID =
  'version: 1\nendpoints:\n  one: { protocol: openai, base_url: "http://127.0.0.1:9/v1", served_model: m }\n'

function places(stdout: string): string[] {
  return [...stdout.matchAll(/^(\S+:\d+:\d+ GW\d+) error/gm)].map(([, place]) => place ?? '')
}

describe('gw validate on ten mistakes in three files', () => {
  it('prints all ten with their positions, then the verdict, and exits 3', async () => {
    const dir = tempDir(onTestFinished)
    writeTenMistakes(dir)
    const { exit, stdout, stderr } = await gw(['validate'], { cwd: dir.path })
    expect(places(stdout)).toEqual(MISTAKES)
    expect(exit).toBe(3)
    await expect(stdout).toMatchFileSnapshot('golden/validate-ten-mistakes.txt')
    await expect(stderr).toMatchFileSnapshot('golden/validate-ten-mistakes.stderr.txt')
  })

  it('prints one JSON document with the same ten', async () => {
    const dir = tempDir(onTestFinished)
    writeTenMistakes(dir)
    const { exit, stdout, stderr } = await gw(['validate', '--format', 'json'], { cwd: dir.path })
    expect(exit).toBe(3)
    expect(stderr).toBe('')
    expect(JSON.parse(stdout).error.problems).toHaveLength(10)
    await expect(stdout).toMatchFileSnapshot('golden/validate-ten-mistakes.json.txt')
  })

  it('annotates a pull request, a line for each', async () => {
    const dir = tempDir(onTestFinished)
    writeTenMistakes(dir)
    const { exit, stdout } = await gw(['validate', '--format', 'github'], { cwd: dir.path })
    expect(exit).toBe(3)
    expect(stdout.trimEnd().split('\n')).toHaveLength(10)
    await expect(stdout).toMatchFileSnapshot('golden/validate-ten-mistakes.github.txt')
  })

  it.each(['text', 'json', 'github'])('shows no secret that stands in plain text (%s)', async format => {
    const dir = tempDir(onTestFinished)
    writeTenMistakes(dir)
    const { stdout, stderr } = await gw(['validate', '--format', format], { cwd: dir.path })
    expect(stdout + stderr).not.toContain(CANARY)
  })

  it('opens no socket, starts no process and writes no file', async () => {
    const dir = tempDir(onTestFinished)
    writeTenMistakes(dir)
    const world = {
      cwd: dir.path,
      node: ['--import', SEALED],
      environment: { GW_STORE: 'sqlite:./data/gw.db' },
    }
    const { exit, stdout, stderr } = await gwProcess(['validate'], world)
    expect(places(stdout)).toEqual(MISTAKES)
    expect(exit).toBe(3)
    expect(stderr).not.toContain('sealed')
    expect(readdirSync(dir.path)).toEqual(['config'])
    expect(readdirSync(join(dir.path, 'config'))).toHaveLength(3)
  })

  it('can rely on that check: it stops a process that does any of it', async () => {
    const dir = tempDir(onTestFinished)
    const world = { cwd: dir.path, node: ['--import', SEALED] }
    const { exit, stderr } = await gwProcess(['demo-upstream', '--listen', '127.0.0.1:0'], world)
    expect(exit).toBe(1)
    expect(stderr).toContain('sealed: net.Server.listen')
  })
})

describe('gw validate', () => {
  it('says in one line what a valid tree holds', async () => {
    const dir = tempDir(onTestFinished)
    dir.write('gw.yaml', VALID)
    expect(await gw(['validate'], { cwd: dir.path })).toEqual({
      exit: 0,
      stdout: 'Valid: 1 resource in 1 file, set default.\n',
      stderr: '',
    })
  })

  it('needs none of the secrets that the files refer to', async () => {
    const dir = tempDir(onTestFinished)
    dir.write('gw.yaml', VALID.replace('served_model: m', 'served_model: m, upstream_key: { env: NOT_SET }'))
    expect((await gw(['validate'], { cwd: dir.path })).exit).toBe(0)
  })

  it('reads a file from stdin with -c -', async () => {
    const { path: cwd } = tempDir(onTestFinished)
    expect((await gw(['validate', '-c', '-'], { cwd, stdin: VALID })).exit).toBe(0)
    const rejected = await gw(['validate', '-c', '-'], { cwd, stdin: 'version: 2\n' })
    expect(rejected.exit).toBe(3)
    expect(rejected.stdout).toContain('<stdin>:1:10 GW1207')
  })

  it('reads several paths as one tree', async () => {
    const dir = tempDir(onTestFinished)
    dir.write('a.yaml', VALID)
    dir.write('b.yaml', 'version: 1\npublications:\n  gpt: { bindings: [{ endpoint: one }] }\n')
    const { exit, stdout } = await gw(['validate', '-c', 'a.yaml', '--config=b.yaml'], { cwd: dir.path })
    expect({ exit, stdout }).toEqual({ exit: 0, stdout: 'Valid: 3 resources in 2 files, set default.\n' })
  })

  it('warns of what is doubtful, and is content all the same', async () => {
    const dir = tempDir(onTestFinished)
    dir.write('gw.yaml', 'version: 1\npublications:\n  gpt: {}\n')
    const { exit, stdout } = await gw(['validate'], { cwd: dir.path })
    expect(exit).toBe(0)
    expect(stdout).toMatch(/^gw\.yaml:3:3 GW\d+ warning /)
  })
})

describe('the default of -c', () => {
  it('is rejected where neither ./gw.yaml nor ./config exists, as wrong usage', async () => {
    const { path: cwd } = tempDir(onTestFinished)
    const { exit, stderr } = await gw(['validate'], { cwd })
    expect(exit).toBe(64)
    expect(stderr).toContain('neither ./gw.yaml nor ./config')
  })

  it('is rejected where both exist: to guess one would plan the removal of the other', async () => {
    const dir = tempDir(onTestFinished)
    dir.write('gw.yaml', VALID)
    dir.write('config/a.yaml', VALID)
    const { exit, stderr } = await gw(['validate'], { cwd: dir.path })
    expect(exit).toBe(64)
    expect(stderr).toContain('Both ./gw.yaml and ./config exist')
  })
})

describe('gw validate of a folder', () => {
  it('that is empty says how to start, once', async () => {
    const dir = tempDir(onTestFinished)
    const { exit, stdout, stderr } = await gw(['validate', '-c', '.'], { cwd: dir.path })
    expect(exit).toBe(3)
    expect(stdout).toContain('`gw init`')
    expect(stderr).toContain('1 error in 1 file')
  })

  it('that cannot be read says so, and not that it is empty', async () => {
    const dir = tempDir(onTestFinished)
    dir.write('config/gw.yaml', VALID)
    const world = { cwd: dir.path, node: ['--import', UNREADABLE_FOLDER] }
    const { exit, stdout, stderr } = await gwProcess(['validate', '-c', 'config'], world)
    expect(exit).toBe(3)
    expect(stdout.match(/GW\d+/g)).toEqual(['GW1001'])
    expect(stderr).toContain('1 error in 1 file')
  })

  it('knows its formats, and says which', async () => {
    const { exit, stderr } = await gw(['validate', '--format', 'junit'], { cwd: '/' })
    expect(exit).toBe(64)
    expect(stderr).toContain('supports only `--format text`, `json` and `github`')
  })
})
