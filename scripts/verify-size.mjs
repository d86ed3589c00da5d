/**
 * What `npm run verify-size` runs after the build: `gw ledger verify` over the ledger of a busy month, and beside it what
 * `gw usage` and `gw logs` take there. Prints entries a second and the peak of memory; ends with 1 if the former is
 * below the promise or the latter above it.
 *
 *     --calls 3000000 --keys 200 --days 30 --rate 300000 --mib 300
 *     --keep DIR         make the store in DIR and leave it there; if it is there already, use it
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { fillLedger } from './verify-size/ledger.mjs'

const GW = join(dirname(dirname(fileURLToPath(import.meta.url))), 'bin/gw.js')
const HOOK = new URL('plan-size/watch-loop.mjs', import.meta.url).href

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '3000000' },
    keys: { type: 'string', default: '200' },
    days: { type: 'string', default: '30' },
    rate: { type: 'string', default: '300000' },
    mib: { type: 'string', default: '300' },
    keep: { type: 'string' },
  },
})
const dir = values.keep ? resolve(values.keep) : mkdtempSync(join(tmpdir(), 'gw-verify-size-'))
const path = join(dir, 'gw.db')
const calls = Number(values.calls)

/** Runs `gw` to its end. */
async function gw(...words) {
  const began = performance.now()
  const child = spawn(process.execPath, ['--import', HOOK, GW, ...words, '--store', `sqlite:${path}`], {
    cwd: dir,
    env: { PATH: process.env.PATH, USER: 'verify-size' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [out, err] = ['', '']
  child.stdout.on('data', piece => {
    out += piece
  })
  child.stderr.on('data', piece => {
    err += piece
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`gw ${words.join(' ')} ended with ${code}:\n${err.slice(-2_000)}`)
  const peakMib = Number(/peak (\d+) MiB/.exec(err)?.[1])
  return { out, seconds: (performance.now() - began) / 1_000, peakMib }
}

try {
  if (!existsSync(path)) {
    mkdirSync(dir, { recursive: true })
    writeFileSync(join(dir, 'gw.yaml'), 'version: 1\ntenants: { acme: {} }\n')
    await gw('apply', '-c', 'gw.yaml', '--yes')
    const began = performance.now()
    const made = fillLedger(path, { calls, keys: Number(values.keys), days: Number(values.days) })
    const seconds = ((performance.now() - began) / 1_000).toFixed(0)
    console.log(`${made} entries in ${seconds} s, ${Math.round(statSync(path).size / calls)} bytes a call`)
  }
  const { out, seconds, peakMib } = await gw('ledger', 'verify', '--format', 'json')
  const { entries, fits } = JSON.parse(out)
  const rate = Math.round(entries / seconds)
  console.log(
    `gw ledger verify: ${seconds.toFixed(1)} s, ${rate} entries/s, ${peakMib} MiB, ${fits ? 'fits' : 'BROKEN'}`,
  )
  for (const line of [
    'usage --by model',
    'usage --by key',
    'usage --by day',
    'usage --by model --since 24h',
    'logs',
    'logs --status 5xx',
    'logs --status 429',
    'logs --model gone',
    'logs --tenant gone',
    'logs --key key-7',
  ]) {
    const took = (await gw(...line.split(' '), '--format', 'json')).seconds
    console.log(`gw ${line}: ${took.toFixed(2)} s`)
  }
  if (!fits || rate < Number(values.rate) || peakMib > Number(values.mib)) process.exitCode = 1
} finally {
  if (!values.keep) rmSync(dir, { recursive: true, force: true })
}
