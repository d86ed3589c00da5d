// @ts-check
import { figure, timed, turns } from './turns.mjs'

/**
 * Requests in a closed loop: each connection asks again as soon as it is answered.
 * @param {import('../run.mjs').Bench} bench
 * @param {import('../scenarios.mjs').Scenario} scenario
 * @returns {Promise<import('../report.mjs').Row[]>}
 */
export async function measurePairs(bench, scenario) {
  const pair = await bench.pair()
  const converse = asking(bench.stage.client, scenario)
  for (const each of pair) await converse(each, bench.durationMs / 2) // warm-up
  const pairs = await turns(bench.rounds, pair, each => converse(each, bench.durationMs))
  return [
    { what: `${scenario.unit}s a second`, unit: '/s', ...figure(pairs, run => run.perSecond) },
    { what: 'p50', unit: 'ms', ...figure(pairs, run => run.p50Ms) },
    { what: 'p99', unit: 'ms', ...figure(pairs, run => run.p99Ms) },
    { what: `CPU a ${scenario.unit}`, unit: 'µs', ...figure(pairs, run => run.cpuUs) },
    { what: 'of it on the main thread', unit: 'µs', ...figure(pairs, run => run.mainUs) },
  ]
}

/**
 * @param {import('../contestants.mjs').Client} client
 * @param {import('../scenarios.mjs').Scenario} scenario
 */
export function asking(client, { connections, path, body, unitsPerAnswer }) {
  return (
    /** @type {import('../contestants.mjs').Contestant} */ contestant,
    /** @type {number} */ durationMs,
  ) =>
    timed(contestant, async () => {
      const { port, key } = contestant
      const order = { order: 'converse', port, key, path, body, connections, durationMs }
      const { answers, ...times } = await client(/** @type {import('../client.mjs').Converse} */ (order))
      return { units: answers * unitsPerAnswer, ...times }
    })
}
