// @ts-check
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { keyLine } from './configuration.mjs'
import { UPSTREAM_MODEL } from './scenarios.mjs'

/** The engine of every node. */
export const ENGINE = 'vllm'
/**
 * The same engines through nodes; as direct endpoints of their own, through plain TCP relays in the process of the nodes, so
 * that bytes arrive as they do from other machines; as such without a relay; and as one endpoint.
 */
export const WAYS = /** @type {const} */ (['nodes', 'relayed', 'direct', 'one'])

/** @param {number} index */
export function nodeName(index) {
  return `gpu-${index}`
}

/** Each engine is the one upstream under an address of its own. @param {number} index */
export function engineHost(index) {
  return `127.0.1.${index + 1}`
}

/** The relay to it. @param {number} index */
export function relayHost(index) {
  return `127.0.2.${index + 1}`
}

/**
 * A model for each way to the engines.
 * @param {string} folder
 * @param {number} upstreamPort
 * @param {number} count of nodes
 */
export function writeNodesConfiguration(folder, upstreamPort, count) {
  mkdirSync(folder, { recursive: true })
  const all = Array.from({ length: count }, (_, index) => index)
  const rest = `served_model: ${UPSTREAM_MODEL}, skip_probe: true }`
  const model = (/** @type {readonly string[]} */ endpoints) =>
    `{ price: { input: "1", output: "2" }, bindings: [${endpoints.map(each => `{ endpoint: ${each} }`).join(', ')}] }`
  const lines = [
    'version: 1',
    'settings: { nodes: { admission: token } }',
    'endpoints:',
    `  nodes: { protocol: openai, nodes: { labels: { pool: bench }, engine: ${ENGINE} }, ${rest}`,
    `  one: { protocol: openai, base_url: "http://127.0.0.1:${upstreamPort}/v1", ${rest}`,
    ...[relayHost, engineHost].flatMap(hostOf =>
      all.map(
        index =>
          `  ${hostOf === relayHost ? 'relay' : 'engine'}-${index}: { protocol: openai, base_url: "http://${hostOf(index)}:${upstreamPort}/v1", ${rest}`,
      ),
    ),
    'publications:',
    `  nodes: ${model(['nodes'])}`,
    `  one: ${model(['one'])}`,
    `  relayed: ${model(all.map(index => `relay-${index}`))}`,
    `  direct: ${model(all.map(index => `engine-${index}`))}`,
    'tenants: { bench: {} }',
    'keys:',
    keyLine(0),
    '',
  ]
  writeFileSync(join(folder, 'gw.yaml'), lines.join('\n'))
}
