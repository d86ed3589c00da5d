import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { freePort } from '../support/free-port.ts'
import { tempDir } from '../support/temp-dir.ts'
import type { WhenOver } from '../support/when-over.ts'

/** The package as its users get it: packed, and installed into an empty prefix. */
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)
const dir = tempDir(afterAll)
const prefix = dir.at('prefix')
const gw = join(prefix, 'bin/gw')
const installed = join(prefix, 'lib/node_modules/gw')
const folder = dir.at('gateway')

interface Lock {
  readonly packages: Readonly<
    Record<
      string,
      {
        readonly version: string
        readonly dev?: boolean
        readonly devOptional?: boolean
        readonly link?: boolean
      }
    >
  >
}

beforeAll(async () => {
  // `npm run proofs` has built it: to build again would take the build away from other proofs for a moment.
  const { stdout } = await run(
    'npm',
    ['pack', '--json', '--silent', '--ignore-scripts', '--pack-destination', dir.path],
    {
      cwd: ROOT,
      maxBuffer: 16 * 1_048_576,
    },
  )
  const [packed] = JSON.parse(stdout.slice(stdout.indexOf('['))) as readonly { readonly filename: string }[]
  const tarball = dir.at(packed?.filename ?? '')
  await run('npm', ['install', '--global', '--prefix', prefix, '--offline', tarball], {
    cwd: dir.path,
  })
})

/** Runs the installed command as a user would, without anything of the clone in its environment but the Node. */
function started(args: readonly string[], whenOver: WhenOver, environment: Record<string, string> = {}) {
  const child = spawn(process.execPath, [gw, ...args], {
    cwd: existsSync(folder) ? folder : dir.path,
    env: { PATH: process.env['PATH'], HOME: dir.path, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(child, 'close')
  whenOver(async () => {
    child.kill('SIGTERM')
    await ended
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
  return {
    ended: ended.then(([exit]) => ({ exit, said })),
    async until(text: string) {
      while (!said.includes(text)) {
        const over = await Promise.race([once(child.stdout, 'data'), once(child.stderr, 'data'), ended])
        if (child.exitCode !== null && !said.includes(text)) throw new Error(`${String(over)} ${said}`)
      }
    },
  }
}

async function command(...args: readonly string[]): Promise<string> {
  const { exit, said } = await started(args, onTestFinished).ended
  expect(exit, said).toBe(0)
  return said
}

test('the installed dependencies are those of the lock file, each in its version, and none of a clone', () => {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as Lock
  const locked = Object.entries(packages)
    .filter(
      ([at, { dev, devOptional, link }]) => at.startsWith('node_modules/') && !dev && !devOptional && !link,
    )
    .map(([at, { version }]) => `${at} ${version}`)
  const found = readdirSync(join(installed, 'node_modules'), { recursive: true, encoding: 'utf8' })
    .map(file => join('node_modules', file))
    .filter(file => /(^|\/)node_modules\/(@[^/]+\/)?[^/@][^/]*\/package\.json$/.test(file))
    .map(file => {
      const { version } = JSON.parse(readFileSync(join(installed, file), 'utf8')) as {
        readonly version: string
      }
      return `${file.slice(0, -'/package.json'.length)} ${version}`
    })
  expect(found.toSorted()).toEqual(locked.toSorted())
})

test('nothing was compiled', () => {
  expect(existsSync(join(installed, 'node_modules/better-sqlite3/prebuilds'))).toBe(true)
  expect(existsSync(join(installed, 'node_modules/better-sqlite3/build'))).toBe(false)
})

test('gw init, validate, apply and serve: the first call is answered, and the pages are there', async () => {
  const [demo, listen, control] = await Promise.all([freePort(), freePort(), freePort()])
  await command('init', 'gateway')
  expect(await command('validate')).toContain('Valid: ')
  const file = 'gateway/config/gateway.yaml'
  const text = readFileSync(dir.at(file), 'utf8')
  expect(text).toContain('127.0.0.1:9101')
  dir.write(file, text.replaceAll('127.0.0.1:9101', `127.0.0.1:${demo}`))
  await started(['demo-upstream', '--listen', `127.0.0.1:${demo}`], onTestFinished).until('Demo upstream')
  await command('apply', '--yes', '--no-input')
  const key = (await command('keys', 'issue', 'my-app')).trim().split('\n').at(-1) ?? ''
  const addresses = ['--listen', `127.0.0.1:${listen}`, '--control-listen', `127.0.0.1:${control}`]
  await started(['serve', ...addresses], onTestFinished, { SERVICE_DOCS_ENABLED: 'true' }).until(
    'Serving revision',
  )
  const answer = await fetch(`http://127.0.0.1:${listen}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: 'Hello!' }] }),
  })
  expect(await answer.json()).toMatchObject({ choices: [{ message: { content: 'You said: Hello!' } }] })
  for (const page of ['docs/swagger-ui-bundle.js', 'redoc/redoc.standalone.js'])
    expect((await fetch(`http://127.0.0.1:${control}/${page}`)).status).toBe(200)
})
