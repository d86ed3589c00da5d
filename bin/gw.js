#!/usr/bin/env node
/**
 * The command `gw`, and the only file that may end the process. It is plain JavaScript that any Node parses, so
 * that one that is too old is told so instead of failing on syntax.
 */
import { existsSync } from 'node:fs'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'

const FLOOR = [20, 19]
const BUNDLE = new URL('../dist/bundle/main.js', import.meta.url)
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)

if (major < FLOOR[0] || (major === FLOOR[0] && minor < FLOOR[1])) {
  process.stderr.write(
    `gw needs Node ${FLOOR.join('.')} or newer; this is Node ${process.versions.node} (${process.execPath}).\n`,
  )
  process.exitCode = 1
} else if (!existsSync(BUNDLE)) {
  const folder = fileURLToPath(new URL('..', import.meta.url))
  process.stderr.write(`gw is not built yet: run \`npm ci && npm run build\` in ${folder}.\n`)
  process.exitCode = 1
} else {
  // Bodies lie outside the heap, but V8 counts them towards its next full collection. A small heap that may grow by
  // little has one for every 20 MB of bodies, and so never earns more: docs/decisions/0018-the-hot-path.md.
  setFlagsFromString('--heap-growing-percent=300')
  const { processIo, run } = await import(BUNDLE.href)
  process.exitCode = await run(process.argv.slice(2), processIo(process))
}
