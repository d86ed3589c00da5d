// @ts-check
import { figure, timed, turns } from './turns.mjs'

/**
 * Streams at the pace of a model: how late each chunk comes, from when it was made.
 * @param {import('../run.mjs').Bench} bench
 * @param {import('../scenarios.mjs').Scenario} scenario
 * @returns {Promise<import('../report.mjs').Row[]>}
 */
export async function measurePaced(
  { stage, pair, rounds, durationMs },
  { path, body, connections: streams },
) {
  const pairs = await turns(Math.min(rounds, 5), await pair(), async contestant => {
    const { port, key } = contestant
    await stage.otherClient({ order: 'open', port, key, path, body, streams })
    await stage.otherClient({ order: 'watch', durationMs: durationMs / 4 }) // warm-up
    const run = await timed(contestant, async () => {
      const { chunks, ...times } = await stage.otherClient({ order: 'watch', durationMs: 1.5 * durationMs })
      return { units: chunks, ...times }
    })
    await stage.otherClient({ order: 'release' })
    return run
  })
  return [
    { what: 'delay of a chunk, p50', unit: 'ms', ...figure(pairs, run => run.p50Ms) },
    { what: 'delay of a chunk, p99', unit: 'ms', ...figure(pairs, run => run.p99Ms) },
    { what: 'CPU a chunk', unit: 'µs', ...figure(pairs, run => run.cpuUs) },
  ]
}
