import fc from 'fast-check'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { type TempDir, tempDir } from '../support/temp-dir.ts'
import { generatedTree } from './generated-tree.ts'
import { gw } from './in-process.ts'
import { FIRST } from './sample-tree.ts'

let dir: TempDir
const run = (line: string, stdin = '') => gw(line.split(' '), { cwd: dir.path, stdin })

beforeEach(() => {
  dir = tempDir(onTestFinished)
})

describe('gw export', () => {
  it('prints the live state as a file that means the same', async () => {
    dir.write('gw.yaml', FIRST)
    await run('apply --yes --skip-probe')
    const { exit, stdout, stderr } = await run('export')
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' })
    await expect(stdout).toMatchFileSnapshot('golden/export.yaml')
    expect((await run('diff -c - --exit-code', stdout)).exit).toBe(0)
  })

  it('prints JSON that is a configuration file, too', async () => {
    dir.write('gw.yaml', FIRST)
    await run('apply --yes --skip-probe')
    const { stdout } = await run('export --format json')
    await expect(stdout).toMatchFileSnapshot('golden/export.json.txt')
    expect((await run('diff -c - --exit-code', stdout)).exit).toBe(0)
  })

  it('then diff is empty for any configuration, in YAML and in JSON', { timeout: 60_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(generatedTree, async tree => {
        dir = tempDir(onTestFinished)
        const applied = await run('apply -c - --yes --skip-probe --format json', JSON.stringify(tree))
        expect(applied.exit, applied.stdout).toBe(0)
        for (const format of ['text', 'json']) {
          const { stdout } = await run(`export --format ${format}`)
          const diff = await run('diff -c - --exit-code', stdout)
          expect(diff.exit, diff.stdout + diff.stderr).toBe(0)
        }
      }),
      { numRuns: 25 },
    )
  })

  it('is of the one set that there is, or of the one that --set names', async () => {
    dir.write('gw.yaml', FIRST)
    await run('apply --yes --skip-probe')
    expect((await run('export')).stdout).toContain('\nset: shop\n')
    await run('apply -c - --yes --skip-probe', 'version: 1\nset: other\ntenants: { red: {} }\n')
    const unclear = await run('export')
    expect(unclear.exit).toBe(64)
    expect(unclear.stderr).toContain('Pass --set with one of these: other, shop.')
    expect((await run('export --set other')).stdout).toBe('version: 1\nset: other\ntenants:\n  red: {}\n')
  })

  it('does not take an unknown set for an empty one', async () => {
    dir.write('gw.yaml', FIRST)
    await run('apply --yes --skip-probe')
    const { exit, stdout, stderr } = await run('export --set shp')
    expect({ exit, stdout }).toEqual({ exit: 4, stdout: '' })
    expect(stderr).toContain('shop')
  })

  it('says that there is no store where there is none, and makes none', async () => {
    const { exit, stderr } = await run('export')
    expect(exit).toBe(4)
    expect(stderr).toContain('error GW2003')
  })
})
