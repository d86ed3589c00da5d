// @ts-check
/** Starts the processes of a run. Each of them ends with the run, also when that is cut short. */
import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, openSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { SECRET, writeConfiguration } from './configuration.mjs'
import { nowUs } from './wire.mjs'

const HERE = dirname(fileURLToPath(import.meta.url))
const GW = join(dirname(HERE), 'bin', 'gw.js')
const READY_WITHIN_MS = 60_000
/** Asked of the system; it may give less. */
const DESCRIPTORS = 65_536
const RAISE = `ulimit -n ${DESCRIPTORS} 2>/dev/null`
/** What a process needs beside its streams, each of which takes two. */
const SPARE_DESCRIPTORS = 1_000

/** What opens `/metrics` of the gateways here. */
export const METRICS_TOKEN = 'bench'

/** What a command reads that wants a password. */
export const ADMIN_PASSWORD = 'correct horse battery'

/**
 * @typedef {object} Contestant
 * @property {string} name
 * @property {number} port
 * @property {string} key
 * @property {number} pid
 * @property {number} startedUs when its process was started
 * @property {() => Promise<void>} end
 *
 * @typedef {Contestant & { control: number, gw: (...args: string[]) => Promise<string> }} Gateway
 *   `control` is the port of its control plane; `gw` runs a command on its store
 *
 * @typedef {(order: import('./client.mjs').Order) => Promise<any>} Client
 *
 * @typedef {object} Stage
 * @property {Client} client
 * @property {Client} otherClient
 * @property {readonly number[]} generators the processes of the upstream and the clients
 * @property {() => Promise<Contestant>} bareProxy
 * @property {(name: string, size: import('./configuration.mjs').Size | ((folder: string, upstreamPort: number) => void), how?: 'whole' | 'unbooked' | 'starting', flags?: readonly string[], store?: string) => Promise<Gateway>} gateway
 *   of the same name: on the same store, by default a file of its own; `starting` resolves without waiting for it; a function writes its files
 * @property {(count: number, gateway: Gateway, nodePort: number) => Promise<void>} nodes so many nodes with the label `pool=bench`, in a process of their own
 * @property {() => Promise<number>} freePort
 * @property {() => void} close
 */

/**
 * The upstream and the clients, ready, and the ways to put a contestant between them.
 * @param {{ pin: boolean, engines?: number }} options `pin` gives a contestant a core of its own; `engines` is the number of
 *   addresses that the upstream has beside its first
 * @returns {Promise<Stage>}
 */
export async function openStage({ pin, engines = 0 }) {
  /** @type {Set<import('node:child_process').ChildProcess>} */
  const children = new Set()
  const folder = mkdtempSync(join(tmpdir(), 'gw-bench-'))
  const stores = new Set()
  // The work of this process, such as reading events, must not load the contestant's core either.
  if (pin) spawnSync('/bin/sh', ['-c', `taskset -cp 1 ${process.pid}`])

  /** @param {string} command @param {'contestant' | 'rest'} role @param {readonly unknown[]} stdio @param {NodeJS.ProcessEnv} [more] */
  const started = (command, role, stdio, more = {}) => {
    const core = pin ? `exec taskset -c ${role === 'contestant' ? 0 : 1}` : 'exec'
    const line = `${RAISE}; ${core} "$@"`
    const child = spawn('/bin/sh', ['-c', line, 'sh', process.execPath, ...command.split(' ')], {
      stdio: /** @type {any} */ (stdio),
      env: { ...process.env, ...more },
    })
    children.add(child)
    child.once('exit', () => children.delete(child))
    return child
  }
  const helper = (/** @type {string} */ file, /** @type {'contestant' | 'rest'} */ role) =>
    started(join(HERE, file), role, ['ignore', 'inherit', 'inherit', 'ipc'])

  const upstream = helper(`upstream.mjs ${engines}`, 'rest')
  const { port: upstreamPort } = await nextMessage(upstream)
  const ask = async (
    /** @type {import('node:child_process').ChildProcess} */ child,
    /** @type {import('node:child_process').Serializable} */ order,
  ) => {
    child.send(order)
    const result = await nextMessage(child)
    if (result.fault !== undefined) throw new Error(result.fault)
    return result
  }

  const [client, otherClient] = [helper('client.mjs', 'rest'), helper('client.mjs', 'rest')]
  return {
    client: order => ask(client, order),
    otherClient: order => ask(otherClient, order),
    generators: [upstream, client, otherClient].map(({ pid }) => pid ?? 0),
    async bareProxy() {
      const startedUs = nowUs()
      const proxy = started(`${join(HERE, 'bare-proxy.mjs')} ${upstreamPort}`, 'contestant', [
        'ignore',
        'inherit',
        'inherit',
        'ipc',
      ])
      const { port } = await nextMessage(proxy)
      return { name: 'bare', port, key: 'none', pid: proxy.pid ?? 0, startedUs, end: () => ended(proxy) }
    },
    async gateway(name, size, how = 'whole', flags = [], url = `sqlite:${join(folder, `${name}.db`)}`) {
      const gw = async (/** @type {string[]} */ ...args) => {
        const running = promisify(execFile)(process.execPath, [GW, ...args, '--store', url], {
          maxBuffer: Number.POSITIVE_INFINITY,
        })
        running.child.stdin?.end(ADMIN_PASSWORD)
        return (await running).stdout
      }
      if (!stores.has(name)) {
        stores.add(name)
        if (typeof size === 'function') size(join(folder, name), upstreamPort)
        else writeConfiguration(join(folder, name), upstreamPort, size)
        await gw('apply', '-c', join(folder, name), '--yes', '--skip-probe', '--no-input')
      }
      const [port, control] = [await freePort(), await freePort()]
      // The log is written as in production, to a place that costs nothing.
      const log = openSync(process.env['GW_BENCH_LOG'] ?? '/dev/null', 'w')
      const command =
        how === 'unbooked'
          ? `${join(HERE, '..', 'dist', 'bench', 'unbooked-gateway.js')} ${port} ${url}`
          : `${GW} serve --listen 127.0.0.1:${port} --control-listen 127.0.0.1:${control} --store ${url} --drain 1s ${flags.join(' ')}`.trim()
      const startedUs = nowUs()
      const server = started(command, 'contestant', ['ignore', log, log], { METRICS_TOKEN })
      if (how !== 'starting') await answering(port, server)
      const pid = server.pid ?? 0
      return { name, port, control, key: SECRET, pid, startedUs, gw, end: () => ended(server) }
    },
    async nodes(count, gateway, nodePort) {
      const hosts = helper('node-hosts.mjs', 'rest')
      const token = await gateway.gw(
        'nodes',
        'token',
        'gpu-*',
        '--uses',
        String(count),
        '--label',
        'pool=bench',
      )
      const server = `http://127.0.0.1:${nodePort}`
      await ask(hosts, { server, token: token.trim(), count, enginePort: upstreamPort })
    },
    freePort,
    close() {
      for (const child of children) child.kill('SIGTERM')
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/** How many streams can be open through one process, by its limit of descriptors. */
export function mostStreams() {
  const { stdout } = spawnSync('/bin/sh', ['-c', `${RAISE}; ulimit -n`], { encoding: 'latin1' })
  const limit = Number.parseInt(stdout, 10)
  return Number.isNaN(limit) ? DESCRIPTORS : Math.floor((limit - SPARE_DESCRIPTORS) / 2)
}

/**
 * The next message of a child; a child that ends instead ends the run.
 * @param {import('node:child_process').ChildProcess} child
 * @returns {Promise<any>}
 */
function nextMessage(child) {
  return new Promise((resolve, reject) => {
    const onMessage = (/** @type {any} */ message) => {
      child.off('exit', onExit)
      resolve(message)
    }
    const onExit = () => {
      child.off('message', onMessage)
      reject(new Error(`${child.spawnargs.at(4)} ended by itself`))
    }
    child.once('message', onMessage)
    child.once('exit', onExit)
  })
}

/** @param {import('node:child_process').ChildProcess} child */
async function ended(child) {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGTERM')
  await once(child, 'exit')
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
    await pause(20)
  }
  throw new Error('the gateway does not answer')
}
