// @ts-check
import process from 'node:process'
import { median } from './turns.mjs'

const STARTS = 5
const SIZE = { keys: 1_000, publications: 10 }

/**
 * From the start of the process until a chat has been answered.
 * @param {import('../run.mjs').Bench} bench
 * @param {import('../scenarios.mjs').Scenario} scenario
 * @returns {Promise<import('../report.mjs').Row[]>}
 */
export async function measureStartup({ stage }, { path, body }) {
  const times = []
  for (let i = 0; i < STARTS; i++) {
    const gateway = await stage.gateway('start', SIZE, 'starting')
    const { port, key, startedUs: sinceUs } = gateway
    const { elapsedMs } = await stage.client({ order: 'first', port, key, path, body, sinceUs })
    times.push(elapsedMs)
    await gateway.end()
    process.stderr.write('.')
  }
  return [{ what: 'until the first answer', unit: 'ms', subject: median(times) }]
}
