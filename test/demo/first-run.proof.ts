import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../support/free-port.ts'
import { type TempDir, tempDir } from '../support/temp-dir.ts'

/**
 * A stand-in for `bin/gw.js` that writes down what it was asked to do. What `npm start` owes is the order, the
 * welcome and the end; the real command has tests of its own.
 */
const STAND_IN = `
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
const args = process.argv.slice(2)
const note = text => appendFileSync('seen.log', text + '\\n')
note([...args, process.env.GW_DEMO_URL].join(' '))
if (process.env.FAIL === args[0]) { console.error('error GW9001: on purpose'); process.exit(1) }
if (args[0] === 'serve' || args[0] === 'demo-upstream') {
  const [host, port] = args[2].split(':')
  const isKnown = bearer => existsSync('issued') && bearer === 'Bearer ' + readFileSync('issued', 'utf8')
  createServer((req, res) => {
    if (args[0] === 'serve' && req.url === '/v1/models' && !isKnown(req.headers.authorization)) res.statusCode = 401
    res.end(String(process.pid))
  }).listen(Number(port), host)
  process.on('SIGTERM', () => { note('end of ' + args[0]); process.exit(0) })
} else if (args[1] === 'issue' && existsSync('issued')) {
  console.error('error GW4006: The key has a secret already.')
  process.exitCode = 4
} else if (args[0] === 'keys') {
  const secret = 'gw_' + args[1]
  writeFileSync('issued', secret)
  if (args[3] === '--to') {
    mkdirSync(args[4], { recursive: true })
    writeFileSync(args[4] + '/platform-test.key', secret + '\\n', { flag: 'wx' })
  } else console.log(secret)
}
`

interface Run {
  readonly process: ChildProcess
  /** All that was said so far, on both streams. */
  said(): string
  /** Resolves when the text has been said. */
  until(text: string): Promise<void>
  /** Resolves with the exit code. */
  readonly ended: Promise<number | null>
}

/** A copy of the project's own script beside the stand-in, in a path with spaces. */
function checkout(): TempDir {
  const dir = tempDir(onTestFinished)
  mkdirSync(dir.at('a path with spaces/scripts'), { recursive: true })
  cpSync('scripts/start.mjs', dir.at('a path with spaces/scripts/start.mjs'))
  dir.write('a path with spaces/package.json', '{"type":"module"}')
  dir.write('a path with spaces/bin/gw.js', STAND_IN)
  return dir
}

function start(
  dir: TempDir,
  args: readonly string[],
  env: Record<string, string> = {},
  command?: readonly [string, ...string[]],
): Run {
  const script = dir.at('a path with spaces/scripts/start.mjs')
  const [program, ...words] = command ?? [process.execPath, script, ...args]
  const child = spawn(program, words, {
    env: { ...process.env, GW_STORE: '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => {
    child.kill('SIGTERM')
  })
  let text = ''
  const closed = once(child, 'close')
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', more => (text += more))
  return {
    process: child,
    said: () => text,
    async until(wanted) {
      while (!text.includes(wanted)) {
        const next = Promise.race([once(child.stdout, 'data'), once(child.stderr, 'data'), closed])
        await next
        if (child.exitCode !== null && !text.includes(wanted))
          throw new Error(`ended without ${wanted}:\n${text}`)
      }
    },
    ended: closed.then(([code]) => code as number | null),
  }
}

function seen(dir: TempDir): string[] {
  const file = join(dir.path, 'a path with spaces', 'seen.log')
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []
}

async function addresses() {
  const [listen, control, demo] = await Promise.all([freePort(), freePort(), freePort()])
  const flags = ['--listen', listen, '--control-listen', control, '--demo-listen', demo]
  return {
    listen: `127.0.0.1:${listen}`,
    control: `127.0.0.1:${control}`,
    demo: `127.0.0.1:${demo}`,
    args: flags.map(word => (typeof word === 'number' ? `127.0.0.1:${word}` : word)),
  }
}

test('starts everything in order, welcomes with the key, and ends the gateway before its upstream', async () => {
  const dir = checkout()
  const { listen, control, demo, args } = await addresses()
  const run = start(dir, args)
  await run.until('Ctrl-C stops everything.')
  expect(run.said()).toContain(`test key        gw_issue\n`)
  expect(run.said()).toContain(
    `curl http://${listen}/v1/chat/completions -H 'authorization: Bearer gw_issue'`,
  )
  expect(run.said()).toContain(`curl -N http://${listen}/v1/chat/completions`)
  expect(run.said()).toContain(`curl http://${listen}/v1/messages -H 'x-api-key: gw_issue'`)
  run.process.kill('SIGINT')
  run.process.kill('SIGINT') // npm passes on what the terminal has sent already
  expect(await run.ended).toBe(0)
  expect(seen(dir)).toEqual([
    `demo-upstream --listen ${demo} http://${demo}`,
    `apply -c config.example --yes --no-input http://${demo}`,
    `keys issue platform-test --to ${dir.at('a path with spaces/data')} http://${demo}`,
    `users create admin --role admin --password - http://${demo}`,
    `users link admin --valid 1h --console http://${control} http://${demo}`,
    `serve --listen ${listen} --control-listen ${control} http://${demo}`,
    'end of serve',
    'end of demo-upstream',
  ])
})

test('a second start keeps the key that the first has issued', async () => {
  const dir = checkout()
  for (let round = 0; round < 2; round++) {
    const run = start(dir, (await addresses()).args)
    await run.until('Ctrl-C stops everything.')
    expect(run.said()).toContain(`test key        gw_issue\n`)
    run.process.kill('SIGTERM')
    expect(await run.ended).toBe(0)
  }
  expect(seen(dir).filter(line => line.startsWith('keys rotate'))).toEqual([])
})

test('rotates the key where its secret is not kept, and keeps the new one for its owner alone', async () => {
  const dir = checkout()
  dir.write('a path with spaces/issued', 'gw_of_another')
  const run = start(dir, (await addresses()).args)
  await run.until('Ctrl-C stops everything.')
  expect(run.said()).toContain(`test key        gw_rotate\n`)
  run.process.kill('SIGTERM')
  expect(await run.ended).toBe(0)
  const kept = dir.at('a path with spaces/data/platform-test.key')
  expect(readFileSync(kept, 'utf8')).toBe('gw_rotate\n')
  expect(statSync(kept).mode & 0o777).toBe(0o600)
})

test('names a port in use and the flag that chooses another, and starts nothing', async () => {
  const dir = checkout()
  const { args, control } = await addresses()
  const taken = createServer().listen(Number(control.split(':')[1]), '127.0.0.1')
  await once(taken, 'listening')
  onTestFinished(() => {
    taken.close()
  })
  const run = start(dir, args)
  expect(await run.ended).toBe(1)
  expect(run.said()).toContain(`${control} is in use, and the control plane wants it.`)
  expect(run.said()).toContain('npm start -- --control-listen 127.0.0.1:')
  expect(seen(dir)).toEqual([])
})

test.each(['demo-upstream', 'apply', 'keys', 'serve'])(
  'shows why `gw %s` failed and leaves nothing running',
  async newCommand => {
    const dir = checkout()
    const { args } = await addresses()
    const run = start(dir, args, { FAIL: newCommand })
    expect(await run.ended).toBe(1)
    expect(run.said()).toContain('error GW9001: on purpose')
    if (newCommand !== 'demo-upstream') expect(seen(dir).at(-1)).toBe('end of demo-upstream')
  },
)

test('ends with the gateway, should that end by itself', async () => {
  const dir = checkout()
  const { args, listen } = await addresses()
  const run = start(dir, args)
  await run.until('Ctrl-C stops everything.')
  const pid = Number(await (await fetch(`http://${listen}/pid`)).text())
  process.kill(pid, 'SIGKILL')
  expect(await run.ended).toBe(1)
  expect(run.said()).toContain('the gateway ended by itself (SIGKILL)')
  expect(seen(dir).at(-1)).toBe('end of demo-upstream')
})

test('ends everything when the shell that started it is gone, as under `npm start` and its SIGTERM', async () => {
  const dir = checkout()
  const { args } = await addresses()
  const script = dir.at('a path with spaces/scripts/start.mjs')
  // The shell must stay beside node instead of becoming it: hence the second command.
  const words = [process.execPath, script, ...args].map(word => `'${word}'`).join(' ')
  const run = start(dir, [], { npm_lifecycle_event: 'start' }, ['/bin/sh', '-c', `${words}; exit $?`])
  await run.until('Ctrl-C stops everything.')
  run.process.kill('SIGTERM')
  await run.ended // both streams are closed only when start.mjs is gone, too
  expect(seen(dir).slice(-2)).toEqual(['end of serve', 'end of demo-upstream'])
})

test('rejects an unknown flag and shows the known ones', async () => {
  const run = start(checkout(), ['--port', '1'])
  expect(await run.ended).toBe(1)
  expect(run.said()).toContain('--listen HOST:PORT')
})
