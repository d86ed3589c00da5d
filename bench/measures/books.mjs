// @ts-check
import { asking } from './pairs.mjs'
import { figure, turns } from './turns.mjs'

/**
 * The gateway beside itself without ledger, log and metrics.
 * @param {import('../run.mjs').Bench} bench
 * @param {import('../scenarios.mjs').Scenario} scenario
 * @returns {Promise<import('../report.mjs').Row[]>}
 */
export async function measureBooks({ stage, size, rounds, durationMs }, scenario) {
  const whole = await stage.gateway('booked', size)
  const without = await stage.gateway('unbooked', size, 'unbooked')
  const converse = asking(stage.client, scenario)
  for (const each of [whole, without]) await converse(each, 3 * durationMs)
  const pairs = await turns(rounds, [whole, without], each => converse(each, durationMs))
  await Promise.all([whole.end(), without.end()])
  const { subject, reference } = figure(pairs, run => run.mainUs)
  return [
    { what: 'main thread, without them the reference', unit: 'µs', subject, reference },
    { what: 'what they take', unit: 'µs', subject: figure(pairs.map(taken), us => us).subject },
  ]
}

/**
 * @param {{ subject: import('./turns.mjs').Run, reference: import('./turns.mjs').Run }} pair
 */
function taken({ subject, reference }) {
  const us = subject.mainUs - reference.mainUs
  return { subject: us, reference: us }
}
