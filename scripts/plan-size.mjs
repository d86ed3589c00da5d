/**
 * What `npm run plan-size` runs after the build: a plan and an apply of a large configuration over a busy store, and the
 * reload of it in a gateway under load. Prints times, peaks of memory, and the longest that the gateway's event loop
 * stood still; ends with 1 where that is longer than the promise.
 *
 *     --keys 10000 --publications 500 --usage-rows 1000000 --stall-ms 50
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { configuration, SECRET } from './plan-size/configuration.mjs'
import { fillUsage } from './plan-size/traffic.mjs'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
const GW = join(ROOT, 'bin/gw.js')
const HOOK = new URL('plan-size/watch-loop.mjs', import.meta.url).href
const CALLERS = 8
const WARM_MS = 4_000
const CALM_MS = 5_000
const AFTER_MS = 3_000

const { values } = parseArgs({
  options: {
    keys: { type: 'string', default: '10000' },
    publications: { type: 'string', default: '500' },
    'usage-rows': { type: 'string', default: '1000000' },
    'stall-ms': { type: 'string', default: '50' },
  },
})
const size = { keys: Number(values.keys), publications: Number(values.publications) }
const dir = mkdtempSync(join(tmpdir(), 'gw-plan-size-'))
const store = `sqlite:${join(dir, 'gw.db')}`
const stalls = join(dir, 'stalls')
const children = []

/** Starts `gw` with a hook that watches it. */
function start(words, environment = {}) {
  const child = spawn(process.execPath, ['--import', HOOK, GW, ...words, '--store', store], {
    cwd: dir,
    env: { PATH: process.env.PATH, USER: 'plan-size', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  children.push(child)
  return child
}

/** Runs `gw` to its end. */
async function gw(...words) {
  const began = performance.now()
  const child = start(words)
  let [out, err] = ['', '']
  child.stdout.on('data', piece => {
    out += piece
  })
  child.stderr.on('data', piece => {
    err += piece
  })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`gw ${words.join(' ')} ended with ${code}:\n${err.slice(-2_000)}`)
  const peakMib = Number(/peak (\d+) MiB/.exec(err)?.[1])
  return { out, seconds: ((performance.now() - began) / 1_000).toFixed(1), peakMib }
}

/** What a child says behind `prefix`, to the end of the line. */
function said(child, prefix) {
  return new Promise((resolve, reject) => {
    let text = ''
    const listen = piece => {
      text += piece
      const at = text.indexOf(prefix)
      const end = at < 0 ? -1 : text.indexOf('\n', at)
      if (end >= 0) resolve(text.slice(at + prefix.length, end))
    }
    child.stdout.on('data', listen)
    child.stderr.on('data', listen)
    child.once('exit', () => reject(new Error(`it ended before it said "${prefix}": ${text}`)))
  })
}

/** Calls until it is stopped; what failed is counted. */
async function load(url, model, over, seen) {
  const agent = new Agent({ keepAlive: true })
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello!' }] })
  while (!over.signal.aborted) {
    await new Promise(resolve => {
      const req = request(`${url}/v1/chat/completions`, {
        method: 'POST',
        agent,
        headers: { authorization: `Bearer ${SECRET}`, 'content-length': Buffer.byteLength(body) },
      })
      req.on('response', res => {
        seen.calls++
        if (res.statusCode !== 200) fail(seen, res.statusCode)
        res.resume()
        res.on('close', resolve)
      })
      req.on('error', error => {
        fail(seen, error.code)
        resolve()
      })
      req.end(body)
    })
  }
  agent.destroy()
}

function fail(seen, why) {
  seen.failed++
  seen.why.set(why, (seen.why.get(why) ?? 0) + 1)
}

function worst(fromMs, untilMs) {
  const lines = readFileSync(stalls, 'utf8').trim().split('\n')
  const within = lines
    .map(line => line.split(' ').map(Number))
    .filter(([at]) => at >= fromMs && at <= untilMs)
  return Math.max(0, ...within.map(([, ms]) => ms))
}

try {
  const upstream = start(['demo-upstream', '--listen', '127.0.0.1:0'])
  const upstreamUrl = (await said(upstream, 'http://')).replace(/[^\d.:].*$/, '')
  const write = (name, later) =>
    writeFileSync(join(dir, name), configuration({ ...size, upstreamUrl: `http://${upstreamUrl}`, later }))
  write('first.yaml', false)
  write('later.yaml', true)

  const first = await gw('apply', '-c', 'first.yaml', '--yes', '--skip-probe')
  console.log(`first apply: ${first.seconds} s, ${first.peakMib} MiB`)
  const rows = fillUsage(join(dir, 'gw.db'), { ...size, rows: Number(values['usage-rows']) })
  console.log(`usage of a month: ${rows} rows`)

  const gateway = start(['serve', '--gateway-only', '--listen', '127.0.0.1:0', '--log-level', 'warn'], {
    GW_STALLS: stalls,
  })
  const url = await said(gateway, 'Gateway on ')
  const [over, seen] = [new AbortController(), { calls: 0, failed: 0, why: new Map() }]
  const callers = Array.from({ length: CALLERS }, () => load(url, 'vendor1/model-1', over, seen))
  await pause(WARM_MS)
  const calmFrom = Date.now()
  await pause(CALM_MS)
  const calmMs = worst(calmFrom, Date.now())

  const plan = await gw('plan', '-c', 'later.yaml', '-o', 'plan.json', '--format', 'json')
  const { counts, verdict } = JSON.parse(plan.out)
  console.log(`plan beside a loaded gateway: ${plan.seconds} s, ${plan.peakMib} MiB`)
  console.log(`  ${verdict}`)
  const reloadFrom = Date.now()
  const wishes = ['--yes', '--skip-probe', '--wait', '60s', '--allow-deletes', String(counts.delete)]
  const applied = await gw('apply', 'plan.json', ...wishes)
  await pause(AFTER_MS)
  const reloadMs = worst(reloadFrom, Date.now())
  over.abort()
  await Promise.all(callers)
  const residentKib = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${gateway.pid}/status`, 'utf8'))?.[1]
  console.log(`apply until it is served: ${applied.seconds} s, ${applied.peakMib} MiB`)
  for (const [why, count] of seen.why) console.log(`failed with ${why}: ${count}`)
  console.log(
    `${seen.calls} calls beside it, ${seen.failed} failed; the gateway peaked at ${Math.round(residentKib / 1024)} MiB`,
  )
  console.log(
    `longest stall of the gateway's event loop: ${reloadMs} ms with the reload, ${calmMs} ms without`,
  )
  if (reloadMs > Number(values['stall-ms']) || seen.failed > 0) process.exitCode = 1
} finally {
  for (const child of children) if (child.exitCode === null) child.kill('SIGTERM')
  await Promise.all(children.map(child => child.exitCode ?? once(child, 'exit')))
  rmSync(dir, { recursive: true, force: true })
}
