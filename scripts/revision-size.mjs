/**
 * What `npm run revision-size` runs after the build: keys made one by one over REST in a gateway that serves, each a
 * revision of its own. Prints what a key costs in the database and in time, and how long the history is read; ends with 1
 * if a key costs more than the promise beside itself.
 *
 *     --keys 10000 --bytes 1024
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import Database from 'better-sqlite3'

const GW = join(dirname(dirname(fileURLToPath(import.meta.url))), 'bin/gw.js')
const PASSWORD = 'correct horse battery'

const { values } = parseArgs({
  options: { keys: { type: 'string', default: '10000' }, bytes: { type: 'string', default: '1024' } },
})
const keys = Number(values.keys)
const dir = mkdtempSync(join(tmpdir(), 'gw-revision-size-'))
const path = join(dir, 'gw.db')
const store = `sqlite:${path}`
let gateway

function start(words) {
  return spawn(process.execPath, [GW, ...words, '--store', store], {
    cwd: dir,
    env: { PATH: process.env.PATH, USER: 'revision-size', GW_ADMIN_PASSWORD: PASSWORD },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
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
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`gw ${words.join(' ')} ended with ${code}:\n${err.slice(-2_000)}`)
  return { out, seconds: ((performance.now() - began) / 1_000).toFixed(1) }
}

/** What a child says behind `prefix`, to the end of the line. */
function said(child, prefix) {
  return new Promise((resolve, reject) => {
    let text = ''
    const listen = piece => {
      text += piece
      const at = text.indexOf(prefix)
      const end = at < 0 ? -1 : text.indexOf('\n', at)
      if (end >= 0) resolve(text.slice(at + prefix.length, end).trim())
    }
    child.stdout.on('data', listen)
    child.stderr.on('data', listen)
    child.once('exit', () => reject(new Error(`it ended before it said "${prefix}": ${text}`)))
  })
}

function bytes() {
  const raw = new Database(path)
  raw.pragma('wal_checkpoint(truncate)')
  raw.close()
  return statSync(path).size
}

try {
  writeFileSync(join(dir, 'gw.yaml'), 'version: 1\n')
  gateway = start(['serve', '-c', 'gw.yaml', '--listen', '127.0.0.1:0', '--control-listen', '127.0.0.1:0'])
  const api = `${await said(gateway, 'Control plane on ')}/api/v1`
  const headers = { 'content-type': 'application/json' }
  const post = async (to, body) => {
    const answer = await fetch(`${api}${to}`, { method: 'POST', headers, body: JSON.stringify(body) })
    const json = await answer.json()
    if (!answer.ok) throw new Error(`POST ${to}: ${answer.status} ${JSON.stringify(json)}`)
    return json
  }
  headers.authorization = `Bearer ${(await post('/session', { username: 'admin', password: PASSWORD })).token}`
  await post('/tenants', { name: 'acme' })

  const before = bytes()
  const began = performance.now()
  let last = began
  let ownBytes = 0
  for (let at = 1; at <= keys; at++) {
    const key = { name: `key-${at}`, kind: 'tenant', tenant: 'acme', limits: { rpm: 60 } }
    await post('/keys', key)
    if (at % Math.ceil(keys / 5) === 0 || at === keys) {
      const now = performance.now()
      console.log(`${at} keys: ${((now - last) / Math.ceil(keys / 5)).toFixed(1)} ms a key`)
      last = now
    }
  }
  const raw = new Database(path, { readonly: true })
  ownBytes = raw
    .prepare('select avg(length(spec) + length(kind) + length(name)) from resources')
    .pluck()
    .get()
  raw.close()
  const grown = (bytes() - before) / keys
  const beside = grown - ownBytes
  console.log(
    `the database grew by ${Math.round(grown)} bytes a key: ${Math.round(beside)} beside the key itself (${Math.round(ownBytes)})`,
  )
  const history = await gw('history', '--limit', '5')
  console.log(`gw history: ${history.seconds} s`)
  const middle = Math.ceil(keys / 2)
  const show = await gw('show', String(middle))
  console.log(`gw show ${middle}: ${show.seconds} s`)
  const back = await gw('rollback', String(middle), '--yes', '--allow-deletes', String(keys))
  console.log(`gw rollback ${middle}: ${back.seconds} s, ${back.out.trim().split('\n').at(-1)}`)
  if (beside > Number(values.bytes)) process.exitCode = 1
} finally {
  if (gateway && gateway.exitCode === null) {
    gateway.kill('SIGTERM')
    await once(gateway, 'exit')
  }
  rmSync(dir, { recursive: true, force: true })
}
