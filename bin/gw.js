#!/usr/bin/env node
/**
 * The command `gw`, and the only file that may end the process. It is plain JavaScript that any Node parses, and it
 * loads nothing before it has looked at the version: the SQLite binding ends an older Node with a segmentation fault.
 *
 *     new enough ──▶ the bundle
 *     too old, in a clone ──▶ the runtime that `npm ci` installed, as a child with the same arguments and streams
 *     too old ──▶ one sentence, exit code 1
 */
import { spawn } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'

const FLOOR = [22, 22]
const BUNDLE = new URL('../dist/bundle/main.js', import.meta.url)
const RUNTIMES = ['../node_modules/node/bin/node', '../node_modules/node/bin/node.exe']
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)

if (major < FLOOR[0] || (major === FLOOR[0] && minor < FLOOR[1])) {
  const runtime = pinnedRuntime()
  if (runtime) runOn(runtime)
  else {
    fail(
      `gw needs Node ${FLOOR.join('.')} or newer; this is Node ${process.versions.node} (${process.execPath}).`,
    )
  }
} else if (!existsSync(BUNDLE)) {
  const folder = fileURLToPath(new URL('..', import.meta.url))
  fail(`gw is not built yet: run \`npm ci && npm run build\` in ${folder}.`)
} else {
  // Bodies lie outside the heap, but V8 counts them towards its next full collection. A small heap that may grow by
  // little has one for every 20 MB of bodies, and so never earns more: docs/decisions/0018-the-hot-path.md.
  setFlagsFromString('--heap-growing-percent=300')
  const { processIo, run } = await import(BUNDLE.href)
  process.exitCode = await run(process.argv.slice(2), processIo(process))
}

/** Of a clone: the development dependency `node`. Undefined where there is none, or where this process is it. */
function pinnedRuntime() {
  const found = RUNTIMES.map(path => fileURLToPath(new URL(path, import.meta.url))).find(existsSync)
  return found && realpathSync(found) !== realpathSync(process.execPath) ? found : undefined
}

function runOn(runtime) {
  // Before the child starts: a signal never ends this process alone. A terminal sends its SIGINT to both processes:
  // passed on as well, it would count as the second one.
  process.on('SIGINT', () => {
    if (!process.stdin.isTTY) child.kill('SIGINT')
  })
  for (const name of ['SIGTERM', 'SIGHUP']) process.on(name, () => child.kill(name))
  const args = [fileURLToPath(import.meta.url), ...process.argv.slice(2)]
  const child = spawn(runtime, args, { stdio: 'inherit' })
  child.once('error', error => fail(`gw could not start ${runtime}: ${error.message}`))
  child.once('exit', (code, signal) => {
    if (signal === null) process.exitCode = code ?? 1
    else {
      process.removeAllListeners(signal)
      process.kill(process.pid, signal)
    }
  })
}

function fail(sentence) {
  process.stderr.write(`${sentence}\n`)
  process.exitCode = 1
}
