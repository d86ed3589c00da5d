// @ts-check
/**
 * `npm run bench`: the gateway beside a bare proxy, in one run, in turns. How to read it: README.md.
 */
import process from 'node:process'
import { parseArgs } from 'node:util'
import { openStage } from './contestants.mjs'
import { measureBooks } from './measures/books.mjs'
import { measureConsoles } from './measures/consoles.mjs'
import { measureOpenStreams } from './measures/open-streams.mjs'
import { measurePaced } from './measures/paced.mjs'
import { asking, measurePairs } from './measures/pairs.mjs'
import { measureScale } from './measures/scale.mjs'
import { measureStalls } from './measures/stalls.mjs'
import { measureStartup } from './measures/startup.mjs'
import { table } from './report.mjs'
import { SCENARIOS } from './scenarios.mjs'

/**
 * @typedef {import('./contestants.mjs').Contestant} Contestant
 *
 * @typedef {object} Bench what a measure works with
 * @property {import('./contestants.mjs').Stage} stage
 * @property {() => Promise<readonly [subject: Contestant, reference: Contestant]>} pair the same two each time
 * @property {readonly (() => Promise<Contestant>)[]} fresh starts a subject, and a reference
 * @property {import('./configuration.mjs').Size} size of an ordinary gateway's configuration
 * @property {number} rounds
 * @property {number} durationMs of one run
 */

const WARM_UP_MS = 3_000

const MEASURES = {
  pairs: measurePairs,
  paced: measurePaced,
  'open-streams': measureOpenStreams,
  startup: measureStartup,
  books: measureBooks,
  stalls: measureStalls,
  scale: measureScale,
  consoles: measureConsoles,
}

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    pin: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    subject: { type: 'string', default: 'gateway' },
    only: { type: 'string', multiple: true },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
  },
})
/** In half a minute there is no time for these. */
const LONG = ['open-streams', 'scale', 'consoles', 'stalls', 'paced']
const chosen = SCENARIOS.filter(({ name, measure }) => {
  if (values.only) return values.only.some(only => name === only || name.startsWith(`${only}-`))
  return !(values.quick && (LONG.includes(measure) || /256|anthropic|2m/.test(name)))
})
if (values.list) {
  for (const { name, what } of SCENARIOS) console.log(`${name.padEnd(18)}${what}`)
  process.exit(0)
}
if (chosen.length === 0) {
  console.error('There is no such scenario; --list names them.')
  process.exit(2)
}

const stage = await openStage({ pin: values.pin })
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    stage.close()
    process.exit(130)
  })
}
try {
  const size = { keys: 10, publications: 10 }
  const subject = () => (values.subject === 'bare' ? stage.bareProxy() : stage.gateway('gateway', size))
  /** @type {Promise<readonly [Contestant, Contestant]> | undefined} */
  let pair
  /** @type {Bench} */
  const bench = {
    stage,
    size,
    pair: () => (pair ??= warmed(stage, [subject, () => stage.bareProxy()])),
    fresh: [() => stage.gateway('many-keys', size), () => stage.bareProxy()],
    rounds: Number(values.rounds ?? (values.quick ? 3 : 7)),
    durationMs: Number(values.seconds ?? (values.quick ? 0.5 : 1)) * 1000,
  }
  const reports = []
  for (const scenario of chosen) {
    process.stderr.write(`${scenario.name}: ${scenario.what} `)
    try {
      const rows = await MEASURES[scenario.measure](bench, scenario)
      reports.push({ scenario: scenario.name, what: scenario.what, rows })
      process.stderr.write('\n')
    } catch (error) {
      // What the others have shown is not lost with it.
      process.stderr.write(` ${String(error)}\n`)
      process.exitCode = 1
    }
  }
  const { rounds, durationMs } = bench
  const run = { node: process.version, pinned: values.pin, rounds, durationMs, reports }
  if (values.json) console.log(JSON.stringify(run, null, 2))
  else console.log(`\n${table(reports, { subject: values.subject, reference: 'bare' })}`)
} finally {
  stage.close()
}

/**
 * Starts two and has them answer until their code is compiled: the first thousands of requests are slow and must not
 * be part of the measurement.
 * @param {import('./contestants.mjs').Stage} stage
 * @param {readonly [() => Promise<Contestant>, () => Promise<Contestant>]} starts
 * @returns {Promise<readonly [Contestant, Contestant]>}
 */
async function warmed(stage, [startSubject, startReference]) {
  const pair = /** @type {const} */ ([await startSubject(), await startReference()])
  for (const name of ['chat-64', 'sse-16']) {
    const scenario = SCENARIOS.find(each => each.name === name)
    if (!scenario) throw new Error(`there is no ${name} to warm up with`)
    for (const each of pair) await asking(stage.client, scenario)(each, WARM_UP_MS)
  }
  return pair
}
