// @ts-check
/** Starts the processes of a run. Each of them ends with the run, also when that is cut short. */
import { execFile, fork, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { PUBLIC_MODEL, UPSTREAM_MODEL } from './scenarios.mjs'

const HERE = dirname(fileURLToPath(import.meta.url))
const GW = join(dirname(HERE), 'bin', 'gw.js')
const READY_WITHIN_MS = 20_000

/**
 * @typedef {object} Contestant
 * @property {string} name
 * @property {number} port
 * @property {string} key
 * @property {number} pid
 *
 * @typedef {object} Stage
 * @property {(order: import('./load.mjs').Order) => Promise<import('./load.mjs').Result>} load
 * @property {() => Promise<Contestant>} bareProxy
 * @property {() => Promise<Contestant>} gateway
 * @property {() => void} close
 */

/**
 * The upstream and the client, ready, and the ways to put a contestant between them.
 * @param {{ pin: boolean }} options `pin` gives a contestant a core of its own
 * @returns {Promise<Stage>}
 */
export async function openStage({ pin }) {
  /** @type {import('node:child_process').ChildProcess[]} */
  const children = []
  const folder = mkdtempSync(join(tmpdir(), 'gw-bench-'))

  /** @param {string} file @param {string[]} args */
  const forked = (file, ...args) => {
    const child = fork(join(HERE, file), args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    children.push(child)
    return child
  }
  /** @param {import('node:child_process').ChildProcess} child @param {'contestant' | 'rest'} role */
  const settle = (child, role) => {
    const pid = child.pid ?? 0
    if (pin) spawnSync('taskset', ['-a', '-c', '-p', role === 'contestant' ? '0' : '1', String(pid)])
    return pid
  }

  const upstream = forked('upstream.mjs')
  const { port: upstreamPort } = await told(upstream)
  settle(upstream, 'rest')
  const client = forked('load.mjs')
  settle(client, 'rest')

  return {
    async load(order) {
      client.send(order)
      return told(client)
    },
    async bareProxy() {
      const proxy = forked('bare-proxy.mjs', String(upstreamPort))
      const { port } = await told(proxy)
      return { name: 'bare', port, key: 'none', pid: settle(proxy, 'contestant') }
    },
    async gateway() {
      const store = `sqlite:${join(folder, 'gw.db')}`
      writeFileSync(join(folder, 'gw.yaml'), configuration(upstreamPort))
      await gw(
        'apply',
        '-c',
        join(folder, 'gw.yaml'),
        '--store',
        store,
        '--yes',
        '--skip-probe',
        '--no-input',
      )
      const key = (await gw('keys', 'issue', 'bench', '--store', store)).trim()
      const [port, control] = [await freePort(), await freePort()]
      const flags = [
        '--listen',
        `127.0.0.1:${port}`,
        '--control-listen',
        `127.0.0.1:${control}`,
        '--store',
        store,
      ]
      // The log is written as in production, to a place that costs nothing.
      const log = openSync('/dev/null', 'w')
      const server = spawn(process.execPath, [GW, 'serve', ...flags], { stdio: ['ignore', log, 'inherit'] })
      children.push(server)
      await answering(port, server)
      return { name: 'gateway', port, key, pid: settle(server, 'contestant') }
    },
    close() {
      for (const child of children) child.kill('SIGTERM')
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/**
 * The next message of a child; a child that ends instead ends the run.
 * @param {import('node:child_process').ChildProcess} child
 * @returns {Promise<any>}
 */
function told(child) {
  return new Promise((resolve, reject) => {
    const onMessage = (/** @type {any} */ message) => {
      child.off('exit', onExit)
      resolve(message)
    }
    const onExit = () => {
      child.off('message', onMessage)
      reject(new Error(`${child.spawnargs.at(1)} ended by itself`))
    }
    child.once('message', onMessage)
    child.once('exit', onExit)
  })
}

/** @param {string[]} args */
async function gw(...args) {
  const { stdout } = await promisify(execFile)(process.execPath, [GW, ...args])
  return stdout
}

/** @param {number} upstreamPort */
function configuration(upstreamPort) {
  return `version: 1
endpoints:
  bench:
    protocol: openai
    base_url: http://127.0.0.1:${upstreamPort}/v1
    served_model: ${UPSTREAM_MODEL}
    skip_probe: true
publications:
  ${PUBLIC_MODEL}:
    price: { input: "1", output: "2" }
    bindings: [{ endpoint: bench }]
tenants:
  bench: {}
keys:
  bench:
    kind: tenant
    tenant: bench
    limits: { rpm: 1000000000, tpm: 1000000000000, concurrency: 10000 }
`
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  server.close()
  await once(server, 'close')
  return port
}

/** @param {number} port @param {import('node:child_process').ChildProcess} server */
async function answering(port, server) {
  const deadline = performance.now() + READY_WITHIN_MS
  while (performance.now() < deadline && server.exitCode === null) {
    const answer = await fetch(`http://127.0.0.1:${port}/health`).catch(() => undefined)
    await answer?.arrayBuffer()
    if (answer?.ok) return
    await pause(50)
  }
  throw new Error('the gateway does not answer')
}
