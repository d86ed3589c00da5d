/**
 * What `npm run console-size` runs after the build: the first page of each list of the console, over a store with many
 * calls, keys and models. Prints the median, the shortest and the longest time of each; ends with 1 if a median is above the promise.
 *
 *     --calls 1000000 --keys 10000 --models 1000 --most-ms 300
 *     --keep DIR         make the store in DIR and leave it there; if it is there already, use it
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { fillLedger } from './verify-size/ledger.mjs'

const GW = join(dirname(dirname(fileURLToPath(import.meta.url))), 'bin/gw.js')
const PASSWORD = 'correct horse battery'
const DAYS = 30
const TENANTS = 20
const ENDPOINTS = 200
const TIMES = 7

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '1000000' },
    keys: { type: 'string', default: '10000' },
    models: { type: 'string', default: '1000' },
    'most-ms': { type: 'string', default: '300' },
    keep: { type: 'string' },
  },
})
const dir = values.keep ? resolve(values.keep) : mkdtempSync(join(tmpdir(), 'gw-console-size-'))
const path = join(dir, 'gw.db')
const children = []

function start(words, stdin = '') {
  const child = spawn(process.execPath, [GW, ...words, '--store', `sqlite:${path}`], {
    cwd: dir,
    env: { PATH: process.env.PATH, USER: 'console-size', METRICS_TOKEN: 'for-the-rates' },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  child.stdin.end(stdin)
  children.push(child)
  return child
}

async function gw(words, stdin) {
  const child = start(words, stdin)
  let [out, err] = ['', '']
  child.stdout.on('data', piece => {
    out += piece
  })
  child.stderr.on('data', piece => {
    err += piece
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`gw ${words.join(' ')} ended with ${code}:\n${err.slice(-2_000)}`)
  return out.trim()
}

/** Keys, models and endpoints as the calls name them, and more. */
function configuration() {
  const many = (count, line) => Array.from({ length: count }, (_, at) => line(at)).join('\n')
  return `version: 1
tenants:
${many(TENANTS, at => `  tenant-${at}: { limits: { rpm: 6000 } }`)}
endpoints:
${many(ENDPOINTS, at => `  endpoint-${at}: { protocol: openai, base_url: 'http://127.0.0.1:9/v1', served_model: m, skip_probe: true }`)}
publications:
${many(Number(values.models), at => `  ${at < 5 ? 'vendor/' : ''}model-${at}: { price: { input: 1, output: 4 }, bindings: [{ endpoint: endpoint-${at % ENDPOINTS} }] }`)}
keys:
${many(Number(values.keys), at => `  key-${at}: { kind: tenant, tenant: tenant-${at % TENANTS}, models: ['vendor/*', 'model-${at % 10}*'], limits: { rpm: 600 }, budget: { amount: 100, per: month } }`)}
`
}

async function make() {
  mkdirSync(dir, { recursive: true })
  writeFileSync(join(dir, 'gw.yaml'), configuration())
  await gw(['apply', '-c', 'gw.yaml', '--yes'])
  for (const user of [
    ['admin', '--role', 'admin'],
    ['tom', '--tenant', 'tenant-1'],
  ])
    await gw(['users', 'create', ...user, '--password', '-'], PASSWORD)
  fillLedger(path, { calls: Number(values.calls), keys: Number(values.keys), days: DAYS })
}

const LISTS = [
  ['calls', '/call-logs?limit=100'],
  ['calls of 24 hours', `/call-logs?limit=100&since=${new Date(Date.now() - 86_400_000).toISOString()}`],
  ['calls, failed', '/call-logs?limit=100&min_status=500'],
  ['calls, rate limited: none', '/call-logs?limit=100&min_status=503'],
  ['calls of a key', '/call-logs?limit=100&key=key-7'],
  ['calls of a model', '/call-logs?limit=100&model=vendor%2Fmodel-1'],
  ['keys', '/keys?limit=100'],
  ['keys, by a part of the name', '/keys?limit=100&q=99'],
  ['keys, part of no name', '/keys?limit=100&q=zzz'],
  ['keys without a secret', '/keys?limit=100&state=no_secret'],
  ['keys, suspended: none', '/keys?limit=100&state=suspended'],
  ['keys, expired: none', '/keys?limit=100&state=expired'],
  ['keys, active: none', '/keys?limit=100&state=active'],
  ['keys that expire: none', '/keys?limit=100&expiring=14d'],
  ['keys unused for 30 days', '/keys?limit=100&unused=30d'],
  ['keys of two filters: none', '/keys?limit=100&state=active&q=zz'],
  ['keys of three filters: none', '/keys?limit=100&state=no_secret&tenant=tenant-3&unused=30d'],
  ['models to call', '/models?limit=100'],
  ['publications', '/publications?limit=100'],
  ['bindings of a model', '/bindings?limit=500&publication=model-9'],
  ['endpoints', '/endpoints?limit=100'],
  ['tenants', '/tenants?limit=100'],
  ['nodes', '/nodes?limit=100'],
  ['audit', '/audit?limit=100'],
  ['revisions', '/config/revisions?limit=50'],
  ['users', '/users?limit=100'],
  ['entries of a wallet', '/tenants/tenant-1/wallet/entries?limit=50'],
  ['usage of 30 days by model', '/usage?by=model'],
  ['usage of 30 days by key', '/usage?by=key'],
  ['usage of 30 days by key, of a model', '/usage?by=key&model=vendor%2Fmodel-1'],
  ['usage of 30 days by day', '/usage?by=day'],
  ['usage of 30 days by day, model', '/usage?by=day&split=model'],
  ['usage of 30 days of a model', '/usage?by=tenant&model=vendor%2Fmodel-1'],
  ['usage of 30 days of a key', '/usage?by=model&key=key-7'],
  ['usage of a day by hour', `/usage?by=hour&since=${new Date(Date.now() - 86_400_000).toISOString()}`],
  ['live rates', '/pulse'],
  ['status', '/status'],
]
const OF_TENANT = [
  ['calls', '/call-logs?limit=100'],
  ['keys', '/keys?limit=100'],
  ['keys, suspended: none', '/keys?limit=100&state=suspended'],
  ['models to call', '/models?limit=100'],
  ['usage of 30 days by key', '/usage?by=key'],
  ['usage of 30 days by day', '/usage?by=day'],
]

/** The times of one list, by the clock of a client on the same machine. */
async function timesOf(url, token) {
  const times = []
  for (let count = 0; count < TIMES; count++) {
    const began = performance.now()
    const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
    const text = await answer.text()
    if (answer.status !== 200) throw new Error(`${url} answers ${answer.status}: ${text}`)
    times.push(performance.now() - began)
    await pause(20)
  }
  return times.sort((a, b) => a - b)
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  await new Promise(done => server.close(done))
  return port
}

try {
  if (!existsSync(path)) await make()
  const [control, gateway] = [await freePort(), await freePort()]
  const api = `http://127.0.0.1:${control}/api/v1`
  const tokens = []
  for (const user of ['admin', 'tom'])
    tokens.push(await gw(['tokens', 'create', `measure ${Date.now()}`, '--user', user, '--expires', '1d']))
  start(['serve', '--listen', `127.0.0.1:${gateway}`, '--control-listen', `127.0.0.1:${control}`])
  while (!(await fetch(`http://127.0.0.1:${control}/health`).catch(() => undefined))) await pause(100)
  let isMissed = false
  for (const [role, lists, token] of [
    ['administrator', LISTS, tokens[0]],
    ['tenant', OF_TENANT, tokens[1]],
  ]) {
    for (const [name, list] of lists) {
      const times = await timesOf(`${api}${list}`, token)
      const median = times[Math.floor(TIMES / 2)]
      const isLate = median > Number(values['most-ms'])
      isMissed ||= isLate
      console.log(
        `${role.padEnd(14)} ${name.padEnd(30)} ${median.toFixed(0).padStart(5)} ms, ${times[0].toFixed(0)} to ${times.at(-1).toFixed(0)}${isLate ? '  above the promise' : ''}`,
      )
    }
  }
  if (isMissed) process.exitCode = 1
} finally {
  for (const child of children) child.kill()
  await Promise.all(
    children
      .filter(child => child.exitCode === null && child.signalCode === null)
      .map(child => once(child, 'close')),
  )
  if (!values.keep) rmSync(dir, { recursive: true, force: true })
}
