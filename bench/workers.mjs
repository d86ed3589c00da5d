// @ts-check
/**
 * `npm run bench:workers`: small chats through one process, one worker and two workers, in turns, with the CPU of the gateway's
 * processes and that of upstream and client, which share the cores with them.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { openStage } from './contestants.mjs'
import { cpu } from './cpu.mjs'
import { SCENARIOS } from './scenarios.mjs'

const ROUNDS = Number(process.env['GW_ROUNDS'] ?? 5)
const RUN_MS = 3_000
const SIZE = { keys: 10, publications: 5 }
const VARIANTS = { 'one process': [], 'one worker': ['--workers', '1'], 'two workers': ['--workers', '2'] }

/** A process and its children. @param {number} pid @returns {number[]} */
function family(pid) {
  const children = readdirSync('/proc').filter(name => {
    if (!/^\d+$/.test(name)) return false
    try {
      return (
        readFileSync(`/proc/${name}/stat`, 'latin1')
          .replace(/^.*\) /, '')
          .split(' ')[1] === String(pid)
      )
    } catch {
      return false
    }
  })
  return [pid, ...children.map(Number)]
}

/** @param {readonly number[]} pids */
const usedUs = pids => pids.reduce((sum, pid) => sum + (cpu(pid)?.allUs ?? 0), 0)
/** @param {readonly number[]} values */
const median = values => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

const stage = await openStage({ pin: false })
try {
  for (const name of ['chat-64']) {
    const scenario = SCENARIOS.find(each => each.name === name)
    if (!scenario) throw new Error(`there is no scenario ${name}`)
    const { path, body, connections } = scenario
    /** @type {Map<string, { perSecond: number[], p50Ms: number[], gatewayUs: number[], restUs: number[], busy: number[] }>} */
    const figures = new Map()
    for (let round = 0; round < ROUNDS; round++) {
      for (const [variant, flags] of Object.entries(VARIANTS)) {
        const gateway = await stage.gateway(`${name} ${variant}`.replaceAll(' ', '-'), SIZE, 'whole', flags)
        await pause(1_500)
        const { port, key, pid } = gateway
        /** @param {number} durationMs */
        const run = durationMs =>
          stage.client({ order: 'converse', port, key, path, body, connections, durationMs })
        await run(RUN_MS)
        const pids = family(pid)
        const before = [usedUs(pids), usedUs(stage.generators)]
        const { answers, elapsedMs, p50Ms } = await run(RUN_MS)
        const [own, rest] = [usedUs(pids) - (before[0] ?? 0), usedUs(stage.generators) - (before[1] ?? 0)]
        await gateway.end()
        const found = figures.get(variant) ?? {
          perSecond: [],
          p50Ms: [],
          gatewayUs: [],
          restUs: [],
          busy: [],
        }
        found.perSecond.push((answers * 1e3) / elapsedMs)
        found.p50Ms.push(p50Ms)
        found.gatewayUs.push(own / answers)
        found.restUs.push(rest / answers)
        found.busy.push((own + rest) / (elapsedMs * 1e3 * availableParallelism()))
        figures.set(variant, found)
      }
    }
    for (const [variant, { perSecond, p50Ms, gatewayUs, restUs, busy }] of figures) {
      const line = [
        `${median(perSecond).toFixed(0)} calls/s`,
        `p50 ${median(p50Ms).toFixed(2)} ms`,
        `CPU a call: gateway ${median(gatewayUs).toFixed(0)} µs, client and upstream ${median(restUs).toFixed(0)} µs`,
        `${(median(busy) * 100).toFixed(0)} % of ${availableParallelism()} cores`,
      ]
      process.stdout.write(`${name}, ${variant}: ${line.join(' · ')}\n`)
    }
  }
} finally {
  stage.close()
}
