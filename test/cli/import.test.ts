import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { tempDir } from '../support/temp-dir.ts'
import { gw } from './in-process.ts'

const FILE = fileURLToPath(new URL('../config/litellm/09-literal-secrets.yaml', import.meta.url))

function world() {
  const dir = tempDir(onTestFinished)
  dir.write('config.yaml', readFileSync(FILE))
  return { dir, cwd: dir.path }
}

describe('gw import litellm', () => {
  it('prints the configuration alone on stdout, and what was not carried on stderr', async () => {
    const { cwd } = world()
    const { exit, stdout, stderr } = await gw(['import', 'litellm', 'config.yaml'], { cwd })
    expect(exit).toBe(0)
    expect(stdout).toMatch(/^version: 1\nendpoints:\n/)
    expect(stderr).toContain('config.yaml:28  general_settings.master_key: users log in to the control plane')
    const validated = await gw(['validate', '-c', '-'], { cwd, stdin: stdout })
    expect(validated.exit).toBe(0)
  })

  it('writes gw.yaml with -o, and prints what was not carried', async () => {
    const { dir, cwd } = world()
    const { exit, stdout, stderr } = await gw(['import', 'litellm', 'config.yaml', '-o', 'mine'], { cwd })
    expect(exit).toBe(0)
    await expect(stdout).toMatchFileSnapshot('golden/import-litellm.txt')
    expect(stderr).toContain('Next: gw validate -c mine')
    expect(readFileSync(dir.at('mine/gw.yaml'), 'utf8')).toMatch(/^version: 1\n/)
    expect((await gw(['validate', '-c', 'mine'], { cwd })).exit).toBe(0)
  })

  it('never overwrites a file', async () => {
    const { dir, cwd } = world()
    dir.write('mine/gw.yaml', 'mine')
    const { exit, stderr } = await gw(['import', 'litellm', 'config.yaml', '-o', 'mine'], { cwd })
    expect(exit).toBe(4)
    expect(stderr).toContain('GW4018')
    expect(readFileSync(dir.at('mine/gw.yaml'), 'utf8')).toBe('mine')
  })

  it('rejects a folder with a config/: two configurations in one place contradict each other', async () => {
    const { dir, cwd } = world()
    dir.write('mine/config/gateway.yaml', 'version: 1')
    const { exit, stderr } = await gw(['import', 'litellm', 'config.yaml', '-o', 'mine'], { cwd })
    expect(exit).toBe(4)
    expect(stderr).toContain('config already exists in')
    expect(existsSync(dir.at('mine/gw.yaml'))).toBe(false)
  })

  it('says of a folder that cannot be made why', async () => {
    const { cwd } = world()
    const { exit, stderr } = await gw(['import', 'litellm', 'config.yaml', '-o', '/proc/none/here'], { cwd })
    expect([exit, stderr]).toEqual([64, expect.stringContaining('/proc/none/here/gw.yaml cannot be written')])
  })

  it('rejects an output that is a file, and a folder with several files', async () => {
    const { dir, cwd } = world()
    dir.write('taken', '')
    const { exit, stderr } = await gw(['import', 'litellm', 'config.yaml', '-o', 'taken'], { cwd })
    expect([exit, stderr]).toEqual([4, expect.stringContaining('is not a directory')])
    dir.write('several/a.yaml', 'model_list: []')
    dir.write('several/b.yaml', 'model_list: []')
    const several = await gw(['import', 'litellm', 'several'], { cwd })
    expect([several.exit, several.stderr]).toEqual([64, expect.stringContaining('has several files')])
  })

  it('says in JSON all that it says in text', async () => {
    const { cwd } = world()
    const { stdout } = await gw(['import', 'litellm', 'config.yaml', '--format', 'json'], { cwd })
    const { yaml, notes, not_carried: left } = JSON.parse(stdout)
    expect(yaml).toMatch(/^version: 1\n/)
    expect(notes).toContainEqual(expect.objectContaining({ file: 'config.yaml', line: 5 }))
    expect(left).toContainEqual(
      expect.objectContaining({ line: 28, field: 'general_settings.master_key', why: expect.any(String) }),
    )
  })

  it.each([
    ['a file that is not there', ['import', 'litellm', 'none.yaml'], 'GW1001'],
    ['a file of another kind', ['import', 'litellm', 'own.yaml'], '`model_list`'],
  ])('exits 3 for %s', async (_what, words, said) => {
    const { dir, cwd } = world()
    dir.write('own.yaml', 'version: 1\nendpoints: {}\n')
    const { exit, stderr } = await gw(words, { cwd })
    expect(exit).toBe(3)
    expect(stderr).toContain(said)
  })
})
