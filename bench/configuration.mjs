// @ts-check
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PUBLIC_MODEL, UPSTREAM_MODEL } from './scenarios.mjs'

/** One file may hold a million YAML tokens. */
const KEYS_A_FILE = 10_000

/**
 * @typedef {object} Size
 * @property {number} keys
 * @property {number} publications
 */

/** What bears the key that is asked with. */
export const SECRET = secretOf(0)

/**
 * Writes a tree of files for a gateway.
 * @param {string} folder
 * @param {number} upstreamPort
 * @param {Size} size
 */
export function writeConfiguration(folder, upstreamPort, { keys, publications }) {
  mkdirSync(folder, { recursive: true })
  const endpoint = (/** @type {string} */ protocol) =>
    `{ protocol: ${protocol}, base_url: "http://127.0.0.1:${upstreamPort}/v1", served_model: ${UPSTREAM_MODEL}, skip_probe: true }`
  const lines = [
    'version: 1',
    'endpoints:',
    `  bench: ${endpoint('openai')}`,
    `  bench-anthropic: ${endpoint('anthropic')}`,
    'publications:',
  ]
  for (let i = 0; i < publications; i++) {
    lines.push(
      `  ${i === 0 ? PUBLIC_MODEL : `model-${i}`}: { price: { input: "1", output: "2" }, bindings: [{ endpoint: bench }, { endpoint: bench-anthropic }] }`,
    )
  }
  lines.push('tenants: { bench: {} }', '')
  writeFileSync(join(folder, 'gw.yaml'), lines.join('\n'))
  for (let from = 0; from < keys; from += KEYS_A_FILE) {
    const count = Math.min(KEYS_A_FILE, keys - from)
    const entries = Array.from({ length: count }, (_, i) => keyLine(from + i))
    writeFileSync(join(folder, `keys-${from}.yaml`), `version: 1\nkeys:\n${entries.join('\n')}\n`)
  }
}

/**
 * A configuration of its own, beside the other: applying it changes one price and nothing else.
 * @param {string} file
 * @param {number} price
 */
export function writePrice(file, price) {
  const publication = `{ price: { input: "${price}", output: "2" }, bindings: [{ endpoint: bench }] }`
  writeFileSync(file, `version: 1\nset: prices\npublications:\n  priced: ${publication}\n`)
}

/** A key with limits that are never reached. @param {number} index */
export function keyLine(index) {
  const digest = createHash('sha256').update(secretOf(index)).digest('hex')
  const limits = '{ rpm: 1000000000, tpm: 1000000000000, concurrency: 100000 }'
  return `  key-${index}: { kind: tenant, tenant: bench, limits: ${limits}, hash: "sha256:${digest}" }`
}

/** @param {number} index */
function secretOf(index) {
  return `a-secret-of-the-bench-${index}`
}
