import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, copyFileSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { type TempDir, tempDir } from '../support/temp-dir.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

const { engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly engines: { readonly node: string }
}
const FLOOR = engines.node.replace('>=', '')

/** Where `bin/gw.js` stands alone, as in an installed package. */
let dir: TempDir
let gw: string

beforeEach(() => {
  dir = tempDir(onTestFinished)
  mkdirSync(join(dir.path, 'bin'))
  gw = join(dir.path, 'bin/gw.js')
  copyFileSync(join(ROOT, 'bin/gw.js'), gw)
  dir.write('package.json', '{"type":"module"}')
})

/** Starts gw on this Node, which says that it is another one. */
function startOn(version: string, ...argv: string[]) {
  const pretend = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } })`
  const options = ['--import', `data:text/javascript,${encodeURIComponent(pretend)}`]
  const child = spawn(process.execPath, [...options, gw, ...argv], { stdio: 'pipe' })
  const said = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      said[name] += text
    })
  const ended = once(child, 'close').then(([exit, signal]) => ({ exit, signal, ...said }))
  return { child, ended }
}

/** Puts a shell script where a clone has its pinned runtime. */
function pinRuntime(script: string): void {
  dir.write('node_modules/node/bin/node', `#!/bin/sh\n${script}\n`)
  chmodSync(join(dir.path, 'node_modules/node/bin/node'), 0o755)
}

describe('gw on a Node that is too old', () => {
  it.each(['16.20.2', '18.20.8', '20.20.2', '22.21.1'])(
    'names the one that the package declares, in one sentence, and ends with 1: %s',
    async version => {
      const { exit, stdout, stderr } = await startOn(version, '--version').ended
      expect({ exit, stdout }).toEqual({ exit: 1, stdout: '' })
      expect(stderr).toBe(`gw needs Node ${FLOOR} or newer; this is Node ${version} (${process.execPath}).\n`)
    },
  )

  it('runs on the pinned runtime of a clone, with the same arguments, and ends with its exit code', async () => {
    pinRuntime('printf "%s|" "$@"; echo talk >&2; exit 7')
    expect(await startOn('20.20.2', 'why', '--key', 'a b').ended).toEqual({
      exit: 7,
      signal: null,
      stdout: `${gw}|why|--key|a b|`,
      stderr: 'talk\n',
    })
  })

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('passes %s on to that runtime', async name => {
    pinRuntime(`trap 'exit 3' ${name.slice(3)}; echo ready; while :; do sleep 0.05; done`)
    const { child, ended } = startOn('20.20.2')
    await once(child.stdout, 'data')
    child.kill(name)
    expect(await ended).toMatchObject({ exit: 3, signal: null })
  })

  it('ends by the signal that ended that runtime', async () => {
    pinRuntime('kill -TERM $$')
    expect(await startOn('20.20.2').ended).toMatchObject({ exit: null, signal: 'SIGTERM' })
  })
})
