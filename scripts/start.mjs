/**
 * What `npm start` runs after the build: a whole gateway on this machine, without an account anywhere.
 *
 *     demo upstream ──▶ apply config.example ──▶ a test key ──▶ gateway and control plane ──▶ welcome
 *
 * Everything runs through the real command, `bin/gw.js`, as an operator would. A signal ends the gateway first,
 * so that its streams can finish, and then the demo upstream behind it.
 */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, join, resolve } from 'node:path'
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
const GW = join(ROOT, 'bin', 'gw.js')
const KEY_NAME = 'platform-test'
const USER_NAME = 'admin'
/** Beside the store, and as secret as it is. */
const KEY_FOLDER = resolve(
  ROOT,
  dirname(/^sqlite:([^:?]+)/.exec(process.env.GW_STORE ?? '')?.[1] ?? 'data/gw.db'),
)
const KEY_FILE = join(KEY_FOLDER, `${KEY_NAME}.key`)
/** The exit code of a command that was rejected, here because the key has a secret already, or its file exists. */
const PRECONDITION = 4
const READY_WITHIN_MS = 30_000
const PARENT_CHECK_MS = 250
/** A Ctrl-C may arrive twice at once, from the terminal and from npm. A second one by hand comes later. */
const SAME_SIGNAL_MS = 500

const ADDRESSES = {
  listen: { default: '127.0.0.1:8090', serves: 'the gateway' },
  'control-listen': { default: '127.0.0.1:8080', serves: 'the control plane' },
  'demo-listen': { default: '127.0.0.1:9101', serves: 'the demo upstream' },
}

/** An error that is printed as one sentence, without a stack. */
class Failure extends Error {}

/** Servers that run, the one to end first in front. */
const servers = []
let ending = false

try {
  await main()
} catch (error) {
  if (!ending) {
    console.error(`\n${error instanceof Failure ? error.message : (error?.stack ?? error)}`)
    process.exitCode = 1
  }
  await endAll()
}

async function main() {
  const addresses = readAddresses()
  if (addresses === undefined) return
  const { listen, 'control-listen': control, 'demo-listen': demo } = addresses
  for (const [flag, address] of Object.entries(addresses)) await expectFree(flag, address)
  listenForSignals()

  const environment = { ...process.env, GW_DEMO_URL: `http://${demo}` }
  step('starting the demo upstream')
  startServer('the demo upstream', ['demo-upstream', '--listen', demo], environment, 'ignore')
  await ready(`http://${demo}/v1/models`)
  step('applying config.example')
  await gw(['apply', '-c', 'config.example', '--yes', '--no-input'], environment)
  step(`issuing the key ${KEY_NAME}`)
  const kept = await issuedSecret(environment)
  step(`making a log-in link for the user ${USER_NAME}`)
  const link = await loginLink(control, environment)
  step('starting the gateway and the control plane')
  startServer(
    'the gateway',
    ['serve', '--listen', listen, '--control-listen', control],
    environment,
    'inherit',
  )
  await ready(`http://${listen}/health`)
  const secret = (await knowsSecret(listen, kept)) ? kept : await replaceSecret(listen, environment)
  console.log(welcome({ listen, control, secret, link }))
  await Promise.all(servers.map(server => server.ended))
}

function readAddresses() {
  const options = Object.fromEntries(
    Object.entries(ADDRESSES).map(([flag, address]) => [flag, { type: 'string', default: address.default }]),
  )
  let values
  try {
    values = parseArgs({ options: { ...options, help: { type: 'boolean', short: 'h' } } }).values
  } catch (error) {
    throw new Failure(`${error.message}\n\n${usage()}`)
  }
  const { help, ...addresses } = values
  if (help) {
    console.log(usage())
    return undefined
  }
  for (const [flag, address] of Object.entries(addresses)) {
    if (!/^.+:\d{1,5}$/.test(address))
      throw new Failure(`--${flag} ${address}: an address looks like 127.0.0.1:8090.`)
  }
  return addresses
}

function usage() {
  const lines = Object.entries(ADDRESSES).map(
    ([flag, address]) => `  --${`${flag} HOST:PORT`.padEnd(26)} ${address.serves} (${address.default})`,
  )
  return ['npm start -- --listen 127.0.0.1:8190', '', ...lines].join('\n')
}

/** Looks before anything is started, so that a port in use leaves nothing half done. */
async function expectFree(flag, address) {
  const colon = address.lastIndexOf(':')
  const host = address.slice(0, colon).replace(/^\[|\]$/g, '')
  const port = Number(address.slice(colon + 1))
  const probe = createServer()
  try {
    probe.listen(port, host)
    await once(probe, 'listening')
  } catch (error) {
    if (error.code !== 'EADDRINUSE') throw new Failure(`--${flag} ${address}: ${error.message}`)
    const other = `${address.slice(0, colon)}:${port + 100 > 65_535 ? port - 100 : port + 100}`
    throw new Failure(
      [
        `${address} is in use, and ${ADDRESSES[flag].serves} wants it.`,
        `Stop the process that listens there, or choose another port:`,
        '',
        `  npm start -- --${flag} ${other}`,
      ].join('\n'),
    )
  }
  probe.close()
  await once(probe, 'close')
}

/**
 * Starts a server in a process group of its own: a Ctrl-C of the terminal reaches this process alone, which then
 * ends the servers in order and with one signal each, for a second signal would cut their streams.
 */
function startServer(name, args, env, output) {
  const child = spawn(process.execPath, [GW, ...args], {
    cwd: ROOT,
    env,
    detached: true,
    stdio: ['ignore', output, 'inherit'],
  })
  const server = { name, child, ended: undefined }
  server.ended = new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => {
      if (ending) resolve()
      else
        reject(
          new Failure(`${name} ended by itself (${signal ?? `exit code ${code}`}); its output is above.`),
        )
    })
  })
  // A caller that waits sees the rejection; without one it must not end the process.
  server.ended.catch(() => undefined)
  servers.unshift(server)
}

/** Resolves when a server answers there. Rejects as soon as one of the servers is gone. */
async function ready(url) {
  const gone = Promise.race(servers.map(server => server.ended))
  const deadline = performance.now() + READY_WITHIN_MS
  while (performance.now() < deadline) {
    if (ending) throw new Failure('interrupted')
    const answer = await Promise.race([fetch(url).catch(() => undefined), gone])
    await answer?.arrayBuffer()
    if (answer?.ok) return
    await Promise.race([pause(50), gone])
  }
  throw new Failure(`Nothing answered at ${url} within ${READY_WITHIN_MS / 1000} s.`)
}

/** Runs one command to its end and gives its stdout; if it fails, the error has all its output. */
async function gw(args, env, mayReject = false, input = '') {
  const child = spawn(process.execPath, [GW, ...args], { cwd: ROOT, env, stdio: 'pipe' })
  child.stdin.end(input)
  let out = ''
  let errors = ''
  child.stdout.setEncoding('utf8').on('data', text => (out += text))
  child.stderr.setEncoding('utf8').on('data', text => (errors += text))
  const [code] = await once(child, 'close')
  if (ending) throw new Failure('interrupted')
  if (code === PRECONDITION && mayReject) return undefined
  if (code !== 0) throw new Failure(`gw ${args.join(' ')} failed:\n\n${errors}${out}`.trimEnd())
  return out.trim()
}

/** The first start issues the key into a file; later ones read it there, so that clients go on with it. */
async function issuedSecret(env) {
  await gw(['keys', 'issue', KEY_NAME, '--to', KEY_FOLDER], env, true)
  return readFile(KEY_FILE, 'utf8').then(
    text => text.trim(),
    () => undefined,
  )
}

/** An address of the console that logs in once. The user of the first start has a password that is stored nowhere. */
async function loginLink(control, env) {
  const password = randomBytes(24).toString('base64url')
  await gw(['users', 'create', USER_NAME, '--role', 'admin', '--password', '-'], env, true, password)
  return gw(['users', 'link', USER_NAME, '--valid', '1h', '--console', `http://${control}`], env)
}

/** Whether the gateway knows the secret: it may have been rotated, or the store be another one. */
async function knowsSecret(listen, secret) {
  if (secret === undefined) return false
  const answer = await fetch(`http://${listen}/v1/models`, { headers: { authorization: `Bearer ${secret}` } })
  await answer.arrayBuffer()
  return answer.status !== 401
}

async function replaceSecret(listen, env) {
  const secret = await gw(['keys', 'rotate', KEY_NAME, '--grace', '0s'], env)
  await mkdir(KEY_FOLDER, { recursive: true })
  await rm(KEY_FILE, { force: true })
  await writeFile(KEY_FILE, `${secret}\n`, { mode: 0o600, flag: 'wx' })
  const deadline = performance.now() + READY_WITHIN_MS
  while (!(await knowsSecret(listen, secret))) {
    if (performance.now() > deadline) throw new Failure('The gateway does not learn of the new test key.')
    await pause(50)
  }
  return secret
}

function listenForSignals() {
  let firstAt
  const onSignal = () => {
    firstAt ??= performance.now()
    if (!ending) {
      console.error('\nstopping …')
      void endAll()
    } else if (performance.now() - firstAt > SAME_SIGNAL_MS) {
      for (const { child } of servers) child.kill('SIGTERM')
    }
  }
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, onSignal)
  if (process.env.npm_lifecycle_event !== 'start') return
  // npm sends the SIGTERM that it gets to the shell between us, which ends without passing it on: then this
  // process has another parent, and no process that would end it.
  const parent = process.ppid
  const watch = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(watch)
    onSignal()
  }, PARENT_CHECK_MS)
  watch.unref()
}

/** One server after the other: the demo upstream stays until the streams that it feeds are over. */
async function endAll() {
  if (ending) return
  ending = true
  for (const { child } of servers) {
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) continue
    const exited = once(child, 'exit')
    child.kill('SIGTERM')
    await exited
  }
}

function step(text) {
  console.error(`· ${text}`)
}

function welcome({ listen, control, secret, link }) {
  const json = "-H 'content-type: application/json'"
  const hello = '"messages":[{"role":"user","content":"Hello!"}]'
  return `
gw is up, with a demo upstream behind it that echoes what you say.

  gateway         http://${listen}/v1
  control plane   http://${control}
  console         ${link} (once, within the hour; another one: bin/gw.js users link ${USER_NAME})
  test key        ${secret}

OpenAI:

  curl http://${listen}/v1/chat/completions -H 'authorization: Bearer ${secret}' ${json} -d '{"model":"chat",${hello}}'

The same as a stream:

  curl -N http://${listen}/v1/chat/completions -H 'authorization: Bearer ${secret}' ${json} -d '{"model":"chat","stream":true,${hello}}'

Anthropic:

  curl http://${listen}/v1/messages -H 'x-api-key: ${secret}' -H 'anthropic-version: 2023-06-01' ${json} -d '{"model":"claude-demo","max_tokens":256,${hello}}'

The configuration is in config.example/. Ctrl-C stops everything.
`
}
