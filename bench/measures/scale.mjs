// @ts-check
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { writePrice } from '../configuration.mjs'
import { asking } from './pairs.mjs'
import { figure, turns } from './turns.mjs'

const PATIENCE_MS = 20_000
const LARGE = { keys: 100_000, publications: 1_000 }
const SMALL = { keys: 10, publications: 10 }

/**
 * A large configuration beside a small one: the rate, how long a change takes until it is served, and the longest
 * stall meanwhile.
 * @param {import('../run.mjs').Bench} bench
 * @param {import('../scenarios.mjs').Scenario} scenario
 * @returns {Promise<import('../report.mjs').Row[]>}
 */
export async function measureScale({ stage, rounds, durationMs }, scenario) {
  const large = await stage.gateway('large', LARGE)
  const small = await stage.gateway('small', SMALL)
  const converse = asking(stage.client, scenario)
  for (const each of [large, small]) await converse(each, 3 * durationMs)
  const pairs = await turns(rounds, [large, small], each => converse(each, durationMs))
  const ofLarge = await apply(stage, large)
  const ofSmall = await apply(stage, small)
  await Promise.all([large.end(), small.end()])
  return [
    { what: 'requests a second, 10 × 10 the reference', unit: '/s', ...figure(pairs, run => run.perSecond) },
    { what: 'CPU a request', unit: 'µs', ...figure(pairs, run => run.cpuUs) },
    { what: 'from apply to serving', unit: 'ms', subject: ofLarge.servedMs, reference: ofSmall.servedMs },
    { what: 'longest answer meanwhile', unit: 'ms', subject: ofLarge.maxMs, reference: ofSmall.maxMs },
  ]
}

/**
 * @param {import('../contestants.mjs').Stage} stage
 * @param {import('../contestants.mjs').Gateway} gateway
 */
async function apply(stage, gateway) {
  const folder = mkdtempSync(join(tmpdir(), 'gw-bench-price-'))
  try {
    const file = join(folder, 'price.yaml')
    writePrice(file, 3)
    const before = await servedRevision(gateway.port)
    await gateway.gw('apply', '-c', file, '--yes', '--skip-probe', '--no-input')
    const appliedMs = performance.now()
    const pinging = stage.otherClient({ order: 'ping', port: gateway.port, durationMs: 3_000 })
    while ((await servedRevision(gateway.port)) === before) {
      if (performance.now() - appliedMs > PATIENCE_MS) throw new Error('the change is not served')
      await pause(5)
    }
    const servedMs = performance.now() - appliedMs
    return { servedMs, maxMs: (await pinging).maxMs }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** @param {number} port */
async function servedRevision(port) {
  const health = await (await fetch(`http://127.0.0.1:${port}/health`)).json()
  return /** @type {{ revision: number }} */ (health).revision
}
