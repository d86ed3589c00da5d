// @ts-check
/**
 * `npm run bench`: the gateway beside a bare proxy, in one run, in turns. How to read it: README.md.
 */
import process from 'node:process'
import { parseArgs } from 'node:util'
import { openStage } from './contestants.mjs'
import { cpuUs } from './cpu.mjs'
import { summarise, table } from './report.mjs'
import { SCENARIOS } from './scenarios.mjs'

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    pin: { type: 'boolean', default: false },
    subject: { type: 'string', default: 'gateway' },
    scenario: { type: 'string', multiple: true },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
  },
})
const rounds = Number(values.rounds ?? (values.quick ? 3 : 9))
const durationMs = Number(values.seconds ?? (values.quick ? 0.5 : 2)) * 1000
const scenarios = SCENARIOS.filter(({ name }) => values.scenario?.includes(name) ?? true)

const stage = await openStage({ pin: values.pin })
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    stage.close()
    process.exit(130)
  })
}
try {
  const reference = await stage.bareProxy()
  const subject =
    values.subject === 'bare' ? { ...(await stage.bareProxy()), name: 'bare again' } : await stage.gateway()
  const reports = []
  for (const scenario of scenarios) {
    if (!values.json) process.stderr.write(`${scenario.name}: ${scenario.what} `)
    for (const each of [subject, reference]) await measure(each, scenario, durationMs / 2) // warm-up
    const pairs = []
    for (let round = 0; round < rounds; round++) {
      // Who goes first alternates: what drifts during a round then favours neither.
      const order = round % 2 === 0 ? [subject, reference] : [reference, subject]
      const seen = new Map()
      for (const each of order) seen.set(each, await measure(each, scenario, durationMs))
      pairs.push({ subject: seen.get(subject), reference: seen.get(reference) })
      if (!values.json) process.stderr.write('.')
    }
    if (!values.json) process.stderr.write('\n')
    reports.push(summarise(scenario, pairs))
  }
  const names = { subject: subject.name, reference: reference.name }
  if (values.json)
    console.log(JSON.stringify({ node: process.version, rounds, durationMs, ...names, reports }, null, 2))
  else console.log(`\n${table(reports, names)}`)
} finally {
  stage.close()
}

/**
 * @param {import('./contestants.mjs').Contestant} contestant
 * @param {import('./scenarios.mjs').Scenario} scenario
 * @param {number} forMs
 * @returns {Promise<import('./report.mjs').Measure>}
 */
async function measure(contestant, scenario, forMs) {
  const beforeUs = cpuUs(contestant.pid)
  const { port, key } = contestant
  const { connections, body } = scenario
  const result = await stage.load({ port, key, connections, durationMs: forMs, body })
  const afterUs = cpuUs(contestant.pid)
  if (result.fault !== undefined) throw new Error(`${contestant.name}, ${scenario.name}: ${result.fault}`)
  const units = result.answers * scenario.unitsPerAnswer
  const usedUs = beforeUs === undefined || afterUs === undefined ? undefined : (afterUs - beforeUs) / units
  return {
    perSecond: (units * 1000) / result.elapsedMs,
    p50Ms: result.p50Ms,
    p99Ms: result.p99Ms,
    cpuUs: usedUs,
  }
}
