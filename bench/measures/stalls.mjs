// @ts-check
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { METRICS_TOKEN } from '../contestants.mjs'
import { asking } from './pairs.mjs'

const ROUNDS = 4

/**
 * How long the event loop is away at most, seen by a client that asks for `/health` again and again: under load alone,
 * and under load with reloads, scrapes and, once a minute by itself, the retention of the call log.
 * @param {import('../run.mjs').Bench} bench
 * @param {import('../scenarios.mjs').Scenario} scenario
 * @returns {Promise<import('../report.mjs').Row[]>}
 */
export async function measureStalls({ stage, durationMs }, scenario) {
  const gateway = await stage.gateway('stalls', { keys: 1_000, publications: 100 })
  const { port } = gateway
  const converse = asking(stage.client, scenario)
  const asked = async (/** @type {number} */ forMs) =>
    (
      await Promise.all([
        stage.otherClient({ order: 'ping', port, durationMs: forMs }),
        converse(gateway, forMs),
      ])
    )[0]
  await asked(durationMs)
  const alone = await asked(ROUNDS * durationMs)
  const meddling = meddle(gateway, ROUNDS * durationMs)
  const beside = await asked(ROUNDS * durationMs)
  await meddling
  await gateway.end()
  return [
    {
      what: 'longest answer under load, undisturbed the reference',
      unit: 'ms',
      subject: beside.maxMs,
      reference: alone.maxMs,
    },
    { what: 'p99 of them', unit: 'ms', subject: beside.p99Ms, reference: alone.p99Ms },
  ]
}

/**
 * Scrapes and reloads, ten times a second.
 * @param {import('../contestants.mjs').Gateway} gateway
 * @param {number} forMs
 */
async function meddle({ port, pid }, forMs) {
  const endMs = performance.now() + forMs
  while (performance.now() < endMs) {
    process.kill(pid, 'SIGHUP')
    const headers = { authorization: `Bearer ${METRICS_TOKEN}` }
    const answer = await fetch(`http://127.0.0.1:${port}/metrics`, { headers })
    if (!answer.ok) throw new Error(`/metrics answered ${answer.status}`)
    await answer.arrayBuffer()
    await pause(100)
  }
}
