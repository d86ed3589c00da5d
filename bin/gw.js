#!/usr/bin/env node
/**
 * The command `gw`, and the only file that may end the process. It is plain JavaScript that any Node parses, so
 * that one that is too old is told so instead of failing on syntax.
 */
import process from 'node:process'
import { setFlagsFromString } from 'node:v8'

const FLOOR = [20, 19]
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)

if (major < FLOOR[0] || (major === FLOOR[0] && minor < FLOOR[1])) {
  process.stderr.write(
    `gw needs Node ${FLOOR.join('.')} or newer; this is Node ${process.versions.node} (${process.execPath}).\n`,
  )
  process.exitCode = 1
} else {
  // Bodies lie outside the heap, but V8 counts them towards its next full collection. A small heap that may grow by
  // little has one for every 20 MB of bodies, and so never earns more: docs/decisions/0018-the-hot-path.md.
  setFlagsFromString('--heap-growing-percent=300')
  const { processIo, run } = await import('../dist/bundle/main.js')
  process.exitCode = await run(process.argv.slice(2), processIo(process))
}
