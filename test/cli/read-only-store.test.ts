import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { type TempDir, tempDir } from '../support/temp-dir.ts'
import { ON_POSTGRES } from '../support/test-engine.ts'
import { gw } from './in-process.ts'
import { FIRST } from './sample-tree.ts'

const BIN = fileURLToPath(new URL('../../bin/gw.js', import.meta.url))
/** Root may write everything. */
const READER = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
const isRoot = 'uid' in READER

let dir: TempDir
/** As a user who may read the store. */
const run = (...words: string[]) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [BIN, ...words], {
    ...READER,
    cwd: dir.path,
    encoding: 'utf8',
    timeout: 20_000,
    env: { GW_STORE: `sqlite:${dir.at('data/gw.db')}`, HOME: dir.path },
  })
  return { status, stdout, stderr }
}

describe.skipIf(ON_POSTGRES)('a store file', () => {
  beforeEach(async () => {
    dir = tempDir(onTestFinished)
    dir.write('gw.yaml', FIRST)
    const world = { cwd: dir.path, clock: systemClock }
    expect((await gw(['apply', '--yes', '--skip-probe'], world)).exit).toBe(0)
    chmodSync(dir.path, 0o755)
    chmodSync(dir.at('data'), 0o777)
    chmodSync(dir.at('data/gw.db'), 0o444)
  })

  it('a store that can only be read is not served, and gw says why', () => {
    const { status, stderr } = run('serve', '--listen', '127.0.0.1:0', '--control-listen', '127.0.0.1:0')
    expect(stderr).toContain('error GW2001')
    expect(stderr).toContain('EACCES')
    expect(status).toBe(1)
  })

  it('gw doctor names each part of the store that cannot be written', () => {
    mkdirSync(dir.at('data/gw.db.ledger'), { mode: 0o500, recursive: true })
    chmodSync(dir.at('data/gw.db.ledger'), 0o500)
    const { status, stdout } = run('doctor', '--format', 'json')
    expect(status).toBe(1)
    const { checks } = JSON.parse(stdout) as { checks: readonly { check: string; found: string }[] }
    const { found } = checks.find(({ check }) => check === 'permissions') ?? { found: '' }
    for (const part of ['data/gw.db ', 'data/gw.db.ledger'])
      expect(found.replaceAll(/[,.]$|,/gm, ' ')).toContain(dir.at(part))
  })

  it.runIf(isRoot)('a store that root restores belongs to the user of the one before', async () => {
    const world = { cwd: dir.path, clock: systemClock }
    expect((await gw(['backup', 'copy.db'], world)).exit).toBe(0)
    chownSync(dir.at('data'), 65_534, 65_534)
    chownSync(dir.at('data/gw.db'), 65_534, 65_534)
    for (const target of ['data/gw.db', 'data/second.db']) {
      expect((await gw(['restore', 'copy.db', '--store', `sqlite:./${target}`], world)).exit).toBe(0)
      const shown = spawnSync(process.execPath, [BIN, 'history', '--store', `sqlite:${dir.at(target)}`], {
        ...READER,
        cwd: dir.path,
        encoding: 'utf8',
        env: { HOME: dir.path },
      })
      expect(shown.stderr).toBe('')
      expect(shown.status).toBe(0)
    }
  })
})
