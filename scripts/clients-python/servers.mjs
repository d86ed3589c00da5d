/** What the clients call: a vendor that keeps what it gets, and a real gateway in front of it. */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { formField, vendorAnswer } from '../../test/clients/vendor.ts'
import { json, reply } from '../../test/support/answers.ts'
import { scriptedUpstream } from '../../test/support/scripted-upstream.ts'

const GW = fileURLToPath(new URL('../../bin/gw.js', import.meta.url))

export const SERVED = 'served-model'
export const TENANT = 'acme'
/** The model names that `clients.py` asks for. */
const MODELS = ['gpt-4o', 'claude-sonnet-4-5', 'text-embedding-3-small']
/** Per million tokens. */
const PRICE = { input: '1', cached_input: '0.5', cache_write: '1.25', output: '10' }
/** The model that reads aloud, and its price for each character. */
const SPEAKER = 'tts-1'
const CHARACTER_PRICE = '0.000015'
/** The credential of those that call the vendor straight. */
export const STRAIGHT_KEY = 'sk-straight'
const UPSTREAM_KEY = 'sk-of-the-gateway'

const SECRETS = {
  app: 'sk-of-the-application-0123456789',
  narrow: 'sk-of-a-narrow-key-0123456789',
  spent: 'sk-of-a-spent-key-0123456789',
  poor: 'sk-of-a-poor-tenant-0123456789',
}

/**
 * For each status what makes the vendor answer it, and what the gateway. The vendor goes by the name of the model; a
 * key of null is the right one.
 */
const ERRORS = {
  400: { key: SECRETS.app, model: 'rejected-by-the-vendor' },
  401: { key: 'sk-unknown-0123456789', model: MODELS[0] },
  402: { key: SECRETS.poor, model: MODELS[0] },
  403: { key: SECRETS.narrow, model: MODELS[0] },
  404: { key: null, model: 'no-such-model' },
  429: { key: SECRETS.spent, model: MODELS[0] },
  503: { key: null, model: 'switched-off' },
}

export class Servers {
  #disposers = []
  #dir = mkdtempSync(join(tmpdir(), 'gw-clients-python-'))
  #gateway
  #vendor
  #port = 0

  async start() {
    this.#vendor = await scriptedUpstream(disposer => this.#disposers.push(disposer))
    this.#vendor.answer(exchange => answer(exchange.request)(exchange))
    writeFileSync(join(this.#dir, 'gw.yaml'), configuration(this.#vendor.url))
    await this.gw('apply', '--yes')
    this.#gateway = this.#spawn('serve', '--gateway-only', '--listen', '127.0.0.1:0', '--log-level', 'warn')
    this.#port = await new Promise((resolve, reject) => {
      let said = ''
      this.#gateway.stdout.resume()
      this.#gateway.stderr.setEncoding('utf8').on('data', text => {
        said += text
        const port = /Gateway on http:\/\/127\.0\.0\.1:(\d+)/.exec(said)?.[1]
        if (port && said.includes('Serving')) resolve(Number(port))
      })
      this.#gateway.once('exit', () => reject(new Error(`gw serve ended:\n${said}`)))
    })
    return this
  }

  /** What `clients.py` reads: the vendor itself is its first server, the gateway its second. */
  get scene() {
    const wrong = ([status, atGateway]) => [status, [{ key: null, model: `status-${status}` }, atGateway]]
    return {
      servers: [
        { url: this.#vendor.url, key: STRAIGHT_KEY },
        { url: `http://127.0.0.1:${this.#port}`, key: SECRETS.app },
      ],
      errors: Object.fromEntries(Object.entries(ERRORS).map(wrong)),
    }
  }

  /** What the vendor has received since the last time, apart by who sent it. */
  takeReceived() {
    const received = { straight: [], through: [] }
    for (const request of this.#vendor.requests) {
      const isStraight = request.head.toString('latin1').includes(STRAIGHT_KEY)
      received[isStraight ? 'straight' : 'through'].push(request)
    }
    this.#vendor.forget()
    return received
  }

  /** Ends the gateway, so that all that was billed is written. */
  async endGateway() {
    const exited = once(this.#gateway, 'exit')
    this.#gateway.kill('SIGTERM')
    await exited
  }

  /** Runs a command on the store of the gateway and gives its stdout. */
  async gw(...argv) {
    const child = this.#spawn(...argv)
    let [stdout, said] = ['', '']
    child.stdout.setEncoding('utf8').on('data', text => (stdout += text))
    child.stderr.setEncoding('utf8').on('data', text => (said += text))
    const [code] = await once(child, 'close')
    if (code !== 0) throw new Error(`gw ${argv.join(' ')} ended with ${code}:\n${said}${stdout}`)
    return stdout
  }

  async end() {
    const gateway = this.#gateway
    if (gateway && gateway.exitCode === null && gateway.signalCode === null) await this.endGateway()
    for (const disposer of this.#disposers) await disposer()
    rmSync(this.#dir, { recursive: true, force: true, maxRetries: 3 })
  }

  #spawn(...argv) {
    return spawn(process.execPath, [GW, ...argv], {
      cwd: this.#dir,
      env: { PATH: process.env.PATH, HOME: this.#dir, UPSTREAM_KEY },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  }
}

/** What a call costs, in nano-units of the currency. */
export function costNano(usage, characters = 0) {
  if (characters > 0) return Math.round(characters * Number(CHARACTER_PRICE) * 1e9)
  const fresh = usage.input_tokens - usage.cached_input_tokens - usage.cache_write_tokens
  return (
    fresh * nanoPerToken(PRICE.input) +
    usage.cached_input_tokens * nanoPerToken(PRICE.cached_input) +
    usage.cache_write_tokens * nanoPerToken(PRICE.cache_write) +
    usage.output_tokens * nanoPerToken(PRICE.output)
  )
}

const nanoPerToken = perMillion => Number(perMillion) * 1_000

function answer(request) {
  const status = statusFor(request)
  if (status !== 200) return json(vendorError(request.path, status), { status })
  const { contentType, text } = vendorAnswer(request.target, request.text())
  return reply({ headers: { 'content-type': contentType }, body: text })
}

function statusFor(request) {
  let model = formField(request.body.toString('latin1'), 'model')
  try {
    model ??= request.json().model
  } catch {
    return 400 // as a vendor answers a body that is not JSON
  }
  return model === 'vendor-rejects' ? 400 : Number(/^status-(\d+)$/.exec(model)?.[1] ?? 200)
}

function vendorError(path, status) {
  const message = `The vendor says ${status}.`
  if (path.endsWith('/messages')) return { type: 'error', error: { type: 'an_error', message } }
  return { error: { message, type: 'an_error', param: null, code: null } }
}

function configuration(vendorUrl) {
  const upstream = `base_url: "${vendorUrl}/v1", upstream_key: { env: UPSTREAM_KEY }, skip_probe: true`
  const bindings = 'bindings: [{ endpoint: oai }, { endpoint: ant }]'
  const price = JSON.stringify(PRICE)
  const hash = name => `hash: "sha256:${createHash('sha256').update(SECRETS[name]).digest('hex')}"`
  return `
version: 1
settings: { log: { embeddings: true } }
endpoints:
  oai: { protocol: openai, served_model: ${SERVED}, ${upstream} }
  ant: { protocol: anthropic, served_model: ${SERVED}, ${upstream} }
  rejecting-oai: { protocol: openai, served_model: vendor-rejects, ${upstream} }
  rejecting-ant: { protocol: anthropic, served_model: vendor-rejects, ${upstream} }
  off-oai: { protocol: openai, served_model: ${SERVED}, enabled: false, ${upstream} }
  off-ant: { protocol: anthropic, served_model: ${SERVED}, enabled: false, ${upstream} }
publications:
${MODELS.map(model => `  ${model}: { price: ${price}, ${bindings} }`).join('\n')}
  ${SPEAKER}: { price: { per_character: "${CHARACTER_PRICE}" }, ${bindings} }
  rejected-by-the-vendor: { bindings: [{ endpoint: rejecting-oai }, { endpoint: rejecting-ant }] }
  switched-off: { bindings: [{ endpoint: off-oai }, { endpoint: off-ant }] }
tenants:
  ${TENANT}: {}
  poor: { billing: prepaid }
keys:
  app: { kind: tenant, tenant: ${TENANT}, ${hash('app')} }
  narrow: { kind: tenant, tenant: ${TENANT}, models: [no-other], ${hash('narrow')} }
  spent: { kind: tenant, tenant: ${TENANT}, quota: 1, ${hash('spent')} }
  poor: { kind: tenant, tenant: poor, ${hash('poor')} }
`
}
