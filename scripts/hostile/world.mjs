/** The processes of a hostile proof: a model server, a real gateway, and clients. */
import { fork, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const SCRIPT = fileURLToPath(new URL('../hostile.mjs', import.meta.url))
const GW = join(dirname(dirname(SCRIPT)), 'bin/gw.js')
const SECRET = 'sk-a-secret-of-their-own-0123456789'
const PAGE_BYTES = 4_096

/** A process of this script that plays a role, and answers each message with one. */
class Actor {
  #child
  #reports = []
  #waiting = []

  constructor(role, scene) {
    this.#child = fork(SCRIPT, ['--role', role], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    this.#child.on('message', report => {
      const waiter = this.#waiting.shift()
      if (waiter) waiter(report)
      else this.#reports.push(report)
    })
    this.#child.send(scene)
  }

  /** The next report. */
  report() {
    const report = this.#reports.shift()
    return report ? Promise.resolve(report) : new Promise(resolve => this.#waiting.push(resolve))
  }

  ask(message = 'report') {
    this.#child.send(message)
    return this.report()
  }

  async end() {
    await ended(this.#child)
  }
}

export class World {
  #actors = []
  #dir = mkdtempSync(join(tmpdir(), 'gw-hostile-'))
  #gateway
  port = 0
  /** 0 where there is no control plane. */
  controlPort = 0
  upstreamPort = 0
  secret = SECRET

  /**
   * @param options `flags` of `gw serve`; `password` of the administrator of a control plane, which is not served
   * without.
   */
  async start({ flags = [], password } = {}) {
    this.upstream = this.actor('upstream', {})
    this.upstreamPort = (await this.upstream.report()).port
    const digest = createHash('sha256').update(SECRET).digest('hex')
    writeFileSync(
      join(this.#dir, 'gw.yaml'),
      `
version: 1
endpoints:
  e: { protocol: openai, base_url: "http://127.0.0.1:${this.upstreamPort}/v1", served_model: served, skip_probe: true }
publications: { m: { price: { input: "1", output: "10" }, bindings: [{ endpoint: e }] } }
tenants: { acme: {} }
keys: { app: { kind: tenant, tenant: acme, hash: "sha256:${digest}" } }
`,
    )
    const [code] = await once(this.#gw({}, 'apply', '--yes'), 'exit')
    if (code !== 0) throw new Error('gw apply failed')
    this.#gateway = this.#gw(
      password === undefined ? {} : { GW_ADMIN_PASSWORD: password },
      'serve',
      ...(password === undefined ? ['--gateway-only'] : ['--control-listen', '127.0.0.1:0']),
      '--listen',
      '127.0.0.1:0',
      '--log-level',
      'warn',
      ...flags,
    )
    this.port = await new Promise((resolve, reject) => {
      let said = ''
      this.#gateway.stderr.setEncoding('utf8').on('data', text => {
        said += text
        const port = /Gateway on http:\/\/127\.0\.0\.1:(\d+)/.exec(said)?.[1]
        this.controlPort = Number(/Control plane on http:\/\/127\.0\.0\.1:(\d+)/.exec(said)?.[1] ?? 0)
        if (port && said.includes('Serving')) resolve(Number(port))
      })
      this.#gateway.once('exit', () => reject(new Error(`gw serve ended:\n${said}`)))
    })
    return this
  }

  actor(role, scene) {
    const actor = new Actor(role, {
      port: this.port,
      controlPort: this.controlPort,
      secret: SECRET,
      ...scene,
    })
    this.#actors.push(actor)
    return actor
  }

  /** Resident memory of the gateway, in MiB. */
  get rssMiB() {
    const pages = Number(readFileSync(`/proc/${this.#gateway.pid}/statm`, 'utf8').split(' ')[1])
    return Math.round((pages * PAGE_BYTES) / 1_048_576)
  }

  async end() {
    for (const actor of this.#actors) await actor.end()
    if (this.#gateway) await ended(this.#gateway)
    rmSync(this.#dir, { recursive: true, force: true, maxRetries: 3 })
  }

  #gw(environment, ...argv) {
    const child = spawn(process.execPath, [GW, ...argv], {
      cwd: this.#dir,
      env: { PATH: process.env.PATH, HOME: this.#dir, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    child.stdout.resume()
    return child
  }
}

async function ended(child) {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}
