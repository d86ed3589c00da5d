// @ts-check
/**
 * `npm run bench:nodes`: streams and small chats through nodes, beside the same engines as direct endpoints of one gateway
 * process, in turns. Gateway, nodes, engines and clients are processes of their own; the CPU is that of the gateway alone.
 *
 * Memory is that of the first streams of a process: `GW_WAYS=nodes GW_ROUNDS=0`, and each other way, in a run of its own.
 * GW_NODES, GW_STREAMS, GW_EVENT_MS, GW_ROUNDS, GW_SECONDS and GW_WAYS change the measurement.
 */
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { openStage } from './contestants.mjs'
import { residentKb } from './cpu.mjs'
import { median, timed } from './measures/turns.mjs'
import { WAYS, writeNodesConfiguration } from './nodes-configuration.mjs'
import { CHAT_PATH, SCENARIOS } from './scenarios.mjs'

const NODES = Number(process.env['GW_NODES'] ?? 200)
const STREAMS = Number(process.env['GW_STREAMS'] ?? 20)
const EVENT_MS = Number(process.env['GW_EVENT_MS'] ?? 1_000)
const ROUNDS = Number(process.env['GW_ROUNDS'] ?? 3)
const RUN_MS = Number(process.env['GW_SECONDS'] ?? 5) * 1_000
const CHATS_AT_ONCE = 64
const REFERENCE = 'relayed'
const chosen = process.env['GW_WAYS']?.split(',') ?? WAYS

/** @param {string} model @param {string} [content] absent: a small chat */
function bodyOf(model, content) {
  const chat = JSON.parse(SCENARIOS.find(({ name }) => name === 'chat-64')?.body ?? '{}')
  const messages = [{ role: 'user', content }]
  return JSON.stringify({ ...chat, model, ...(content !== undefined && { stream: true, messages }) })
}

/** What is measured; each of them gets CPU microseconds of the gateway for each event, or chat. */
const MEASURES = {
  'event, engines in step': 'step',
  'event, evenly spread': 'every',
  chat: undefined,
}

const stage = await openStage({ pin: false, engines: NODES })
try {
  const nodePort = await stage.freePort()
  const gateway = await stage.gateway(
    'nodes',
    (folder, upstreamPort) => writeNodesConfiguration(folder, upstreamPort, NODES),
    'whole',
    ['--node-listen', `127.0.0.1:${nodePort}`, ...(process.env['GW_FLAGS']?.split(' ') ?? [])],
  )
  await stage.nodes(NODES, gateway, nodePort)
  await pause(2_000)
  const { port, key, pid } = gateway
  process.stdout.write(`pid ${pid}\n`)

  const streams = async (
    /** @type {string} */ model,
    /** @type {string} */ pace,
    /** @type {number} */ durationMs,
  ) => {
    const beforeKb = residentKb(pid) ?? Number.NaN
    const body = bodyOf(model, `Count. @${pace} ${EVENT_MS}@`)
    await stage.otherClient({ order: 'open', port, key, path: CHAT_PATH, body, streams: NODES * STREAMS })
    await stage.otherClient({ order: 'watch', durationMs: EVENT_MS })
    const run = await timed(gateway, async () => {
      const { chunks, ...times } = await stage.otherClient({ order: 'watch', durationMs })
      return { units: chunks, ...times }
    })
    const kilobytes = ((residentKb(pid) ?? Number.NaN) - beforeKb) / NODES / STREAMS
    await stage.otherClient({ order: 'release' })
    await pause(500)
    return { ...run, kilobytes }
  }
  const chats = (/** @type {string} */ model, /** @type {number} */ durationMs) =>
    timed(gateway, async () => {
      const body = bodyOf(model)
      const order = { port, key, path: CHAT_PATH, body, connections: CHATS_AT_ONCE, durationMs }
      const { answers, ...times } = await stage.client({ order: 'converse', ...order })
      return { units: answers, ...times }
    })

  for (const way of chosen) {
    const { kilobytes } = await streams(way, 'every', 1_000)
    process.stdout.write(
      `  ${way.padEnd(7)} first ${NODES * STREAMS} streams: ${kilobytes.toFixed(1)} kB a stream\n`,
    )
    if (ROUNDS > 0) await chats(way, RUN_MS)
  }
  for (const [what, pace] of Object.entries(ROUNDS > 0 ? MEASURES : {})) {
    if (process.env['GW_ONLY'] && !what.includes(process.env['GW_ONLY'])) continue
    /** @type {Record<string, { cpuUs: number, perSecond: number, p50Ms: number, p99Ms: number, kilobytes?: number }[]>} */
    const runs = {}
    for (let round = 0; round < ROUNDS; round++) {
      const order = round % 2 === 0 ? chosen : [...chosen].reverse()
      for (const way of order) {
        const run = pace === undefined ? await chats(way, RUN_MS) : await streams(way, pace, RUN_MS)
        ;(runs[way] ??= []).push(run)
      }
    }
    process.stdout.write(
      `${NODES} nodes${pace ? ` × ${STREAMS} streams` : ''}, CPU of the gateway a ${what}:\n`,
    )
    for (const way of chosen) {
      const own = runs[way] ?? []
      const ratios = own.map(({ cpuUs }, round) => cpuUs / (runs[REFERENCE]?.[round]?.cpuUs ?? Number.NaN))
      const of = (/** @type {(run: typeof own[number]) => number} */ figure) => median(own.map(figure))
      process.stdout.write(
        `  ${way.padEnd(7)} ${of(run => run.cpuUs).toFixed(1)} µs  × ${median(ratios).toFixed(2)} (${ratios.map(ratio => ratio.toFixed(2)).join(' ')})  ${of(run => run.perSecond).toFixed(0)} a second, p50 ${of(run => run.p50Ms).toFixed(2)} ms, p99 ${of(run => run.p99Ms).toFixed(2)} ms${pace ? `, ${of(run => run.kilobytes ?? Number.NaN).toFixed(1)} kB a stream` : ''}\n`,
      )
    }
  }
  await gateway.end()
} finally {
  stage.close()
}
