// @ts-check
/**
 * Runs the suite on another Node, with the same `node_modules` and the same build: nothing in it is compiled for one.
 *
 *     npm run check:node -- 24                   # the newest 24, from the package `node`
 *     npm run check:node -- 22.22.0 test/store   # the oldest that gw runs on, and some tests alone
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
const [version = '', ...rest] = process.argv.slice(2)

if (!/^\d+(\.\d+){0,2}$/.test(version)) {
  console.error('Name a version of Node: npm run check:node -- 24')
  process.exitCode = 64
} else {
  // Its own path: what a test starts runs on the same one.
  const asked = ['--yes', `node@${version}`, '--print', 'process.execPath']
  const cached = execFileSync('npx', asked, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim()
  // Some tests of root run as another user, who may not read the cache of root.
  const folder = mkdtempSync(join(tmpdir(), 'gw-node-'))
  process.once('exit', () => rmSync(folder, { recursive: true }))
  chmodSync(folder, 0o755)
  const node = join(folder, 'node')
  copyFileSync(cached, node)
  console.log(`Node ${execFileSync(node, ['--version'], { encoding: 'utf8' }).trim()}`)
  const { status } = spawnSync(node, [join(ROOT, 'node_modules/vitest/vitest.mjs'), 'run', ...rest], {
    cwd: ROOT,
    env: { ...process.env, PATH: `${folder}:${process.env.PATH}` },
    stdio: 'inherit',
  })
  process.exitCode = status ?? 1
}
