// @ts-check
import process from 'node:process'
import { cpu } from '../cpu.mjs'

/**
 * @typedef {import('../contestants.mjs').Contestant} Contestant
 * @typedef {import('../scenarios.mjs').Scenario} Scenario
 *
 * @typedef {object} Run of one contestant
 * @property {number} perSecond
 * @property {number} p50Ms
 * @property {number} p99Ms
 * @property {number} cpuUs microseconds of CPU for each unit; NaN where the system does not tell
 * @property {number} mainUs of these, on the main thread
 *
 * @typedef {object} Figure medians over all rounds; `ratio` is the median of the ratios within each round
 * @property {number} subject
 * @property {number} reference
 * @property {number} ratio
 */

/**
 * Lets two take turns, each round both, and who goes first alternates: what drifts during a round favours neither.
 * @template Result
 * @param {number} rounds
 * @param {readonly [Contestant, Contestant]} pair
 * @param {(contestant: Contestant) => Promise<Result>} run
 * @returns {Promise<{ subject: Result, reference: Result }[]>}
 */
export async function turns(rounds, [subject, reference], run) {
  const pairs = []
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? [subject, reference] : [reference, subject]
    /** @type {Map<Contestant, Result>} */
    const seen = new Map()
    for (const each of order) seen.set(each, await run(each))
    pairs.push({
      subject: /** @type {Result} */ (seen.get(subject)),
      reference: /** @type {Result} */ (seen.get(reference)),
    })
    process.stderr.write('.')
  }
  return pairs
}

/**
 * Runs `work` and says what CPU it took of a contestant for each of the units that it did.
 * @param {Contestant} contestant
 * @param {() => Promise<{ units: number, elapsedMs: number, p50Ms: number, p99Ms: number }>} work
 * @returns {Promise<Run>}
 */
export async function timed(contestant, work) {
  const before = cpu(contestant.pid)
  const { units, elapsedMs, p50Ms, p99Ms } = await work()
  const after = cpu(contestant.pid)
  const perSecond = (units * 1000) / elapsedMs
  if (!before || !after) return { perSecond, p50Ms, p99Ms, cpuUs: Number.NaN, mainUs: Number.NaN }
  const cpuUs = (after.allUs - before.allUs) / units
  return { perSecond, p50Ms, p99Ms, cpuUs, mainUs: (after.mainUs - before.mainUs) / units }
}

/**
 * @template Result
 * @param {readonly { subject: Result, reference: Result }[]} pairs
 * @param {(result: Result) => number} of
 * @returns {Figure}
 */
export function figure(pairs, of) {
  return {
    subject: median(pairs.map(pair => of(pair.subject))),
    reference: median(pairs.map(pair => of(pair.reference))),
    ratio: median(pairs.map(pair => of(pair.subject) / of(pair.reference))),
  }
}

/** @param {readonly number[]} values */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length / 2
  const [low, high] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]]
  return low === undefined || high === undefined ? Number.NaN : (low + high) / 2
}
