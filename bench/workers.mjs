// @ts-check
/**
 * `npm run bench:workers`: small chats through one process, one worker and two workers on SQLite and on PostgreSQL, and through the
 * bare proxy, in turns; with the CPU of the gateway's processes, of PostgreSQL, and of upstream and client, which all share the cores.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { OwnPostgres } from '../test/support/own-postgres.ts'
import { openStage } from './contestants.mjs'
import { cpu } from './cpu.mjs'
import { SCENARIOS } from './scenarios.mjs'

const ROUNDS = Number(process.env['GW_ROUNDS'] ?? 3)
const WARM_MS = 1_500
const RUN_MS = 2_000
const SIZE = { keys: 10, publications: 5 }
/** As a server keeps money: an acknowledged write is on the disk. */
const DURABLE = { fsync: 'on', synchronous_commit: 'on', shared_buffers: '128MB' }
const TWO = ['--workers', '2']
/** @type {Readonly<Record<string, { flags: readonly string[], isPostgres?: true } | undefined>>} */
const VARIANTS = {
  'bare proxy': undefined,
  'one process': { flags: [] },
  'one worker': { flags: ['--workers', '1'] },
  'two workers': { flags: TWO },
  'one process on PostgreSQL': { flags: [], isPostgres: true },
  'two workers on PostgreSQL': { flags: TWO, isPostgres: true },
}

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

/** @type {(() => unknown)[]} */
const ends = []
const postgres = await OwnPostgres.create(end => void ends.push(end), DURABLE)
await postgres.start()
await postgres.createDatabase()

/** The processes of PostgreSQL, and how many transactions it has committed: each of a gateway is one statement. */
async function postgresNow() {
  const pids = await postgres.query('select pid from pg_stat_activity')
  const [row] = await postgres.query(
    `select xact_commit::int as count from pg_stat_database where datname = current_database()`,
  )
  return { pids: pids.map(({ pid }) => Number(pid)), commits: Number(row?.count) }
}

const stage = await openStage({ pin: false })
try {
  for (const name of ['chat-64', 'chat-1']) {
    const scenario = SCENARIOS.find(each => each.name === name)
    if (!scenario) throw new Error(`there is no scenario ${name}`)
    const { path, body, connections } = scenario
    /** @type {Map<string, Record<'perSecond' | 'p50Ms' | 'gatewayUs' | 'postgresUs' | 'restUs' | 'trips' | 'busy', number[]>>} */
    const figures = new Map()
    for (let round = 0; round < ROUNDS; round++) {
      for (const [variant, how] of Object.entries(VARIANTS)) {
        const store = how?.isPostgres && postgres.urlAt(postgres.port)
        const called = `${name} ${variant}`.replaceAll(' ', '-')
        const contestant = how
          ? await stage.gateway(called, SIZE, 'whole', how.flags, store)
          : await stage.bareProxy()
        await pause(1_500)
        const { port, key, pid } = contestant
        /** @param {number} durationMs */
        const run = durationMs =>
          stage.client({ order: 'converse', port, key, path, body, connections, durationMs })
        await run(WARM_MS)
        const pids = family(pid)
        const server = await postgresNow()
        const before = [usedUs(pids), usedUs(stage.generators), usedUs(server.pids)]
        const { answers, elapsedMs, p50Ms } = await run(RUN_MS)
        const after = [usedUs(pids), usedUs(stage.generators), usedUs(server.pids)]
        const [own = 0, rest = 0, stored = 0] = after.map((us, at) => us - (before[at] ?? 0))
        // Counts are reported within a second.
        await pause(store ? 1_200 : 0)
        const { commits } = await postgresNow()
        await contestant.end()
        const found = figures.get(variant) ?? {
          perSecond: [],
          p50Ms: [],
          gatewayUs: [],
          postgresUs: [],
          restUs: [],
          trips: [],
          busy: [],
        }
        found.perSecond.push((answers * 1e3) / elapsedMs)
        found.p50Ms.push(p50Ms)
        found.gatewayUs.push(own / answers)
        found.postgresUs.push(store ? stored / answers : 0)
        found.restUs.push(rest / answers)
        found.trips.push(store ? (commits - server.commits) / answers : 0)
        found.busy.push((own + rest + stored) / (elapsedMs * 1e3 * availableParallelism()))
        figures.set(variant, found)
      }
    }
    const bare = median(figures.get('bare proxy')?.perSecond ?? [])
    for (const [variant, found] of figures) {
      const { perSecond, p50Ms, gatewayUs, postgresUs, restUs, trips, busy } = found
      const onServer = VARIANTS[variant]?.isPostgres
      const line = [
        `${median(perSecond).toFixed(0)} calls/s (× ${(median(perSecond) / bare).toFixed(2)})`,
        `p50 ${median(p50Ms).toFixed(2)} ms`,
        `CPU a call: own ${median(gatewayUs).toFixed(0)} µs${onServer ? `, PostgreSQL ${median(postgresUs).toFixed(0)} µs` : ''}, client and upstream ${median(restUs).toFixed(0)} µs`,
        ...(onServer ? [`${median(trips).toFixed(3)} round trips a call`] : []),
        `${(median(busy) * 100).toFixed(0)} % of ${availableParallelism()} cores`,
      ]
      process.stdout.write(`${name}, ${variant}: ${line.join(' · ')}\n`)
    }
  }
} finally {
  stage.close()
  for (const end of ends) await end()
}
