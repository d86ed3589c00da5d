/**
 * What `npm run hostile` runs after the build: a real gateway among clients that want its room rather than its answers,
 * each side in a process of its own.
 *
 *     slowloris     5,000 connections that dribble heads, beside normal traffic: goodput in pairs of windows
 *     slow-readers  200 clients that take a kilobyte a second of answers of 20 MB: memory
 *     logins        500 people who log in to the control plane at once, beside normal traffic: p99 in pairs of windows
 *     streams       10,000 open streams with an event every few seconds: memory, added delay, and that none is lost
 *
 *     node scripts/hostile.mjs [--short] [--only NAME] [--format json]
 *
 * It needs Linux, two processors of its own, and a limit of open files (`ulimit -n`) over 20,300; with less it opens
 * fewer streams and says so. It takes about ten minutes, and ends with 1 if a promise does not hold.
 */
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'

const LONG = {
  slowloris: { sockets: 5_000, pairs: 5, windowMs: 8_000, rate: 400, connections: 64 },
  'slow-readers': { readers: 200, megabytes: 20, seconds: 60 },
  logins: { people: 500, pairs: 9, windowMs: 6_000, rate: 600, connections: 64 },
  streams: { count: 10_000, events: 12, everyMs: 5_000 },
}
const SHORT = {
  slowloris: { sockets: 50, pairs: 1, windowMs: 1_000, rate: 100, connections: 8 },
  'slow-readers': { readers: 10, megabytes: 20, seconds: 4 },
  logins: { people: 40, pairs: 1, windowMs: 1_000, rate: 50, connections: 8 },
  streams: { count: 200, events: 4, everyMs: 400 },
}

const { values } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    only: { type: 'string' },
    format: { type: 'string', default: 'text' },
    role: { type: 'string' },
  },
})

if (values.role) await play(values.role)
else await prove()

async function prove() {
  const { slowloris, slowReaders, openStreams } = await import('./hostile/proofs.mjs')
  const { logInsBeside: logins } = await import('./hostile/logins.mjs')
  const proofs = { slowloris, logins, 'slow-readers': slowReaders, streams: openStreams }
  const sizes = values.short ? SHORT : LONG
  const fitting = Math.floor((openFiles() - 300) / 2)
  if (sizes.streams.count > fitting) {
    console.error(`Only ${fitting} streams: the limit of open files is ${openFiles()}.`)
    sizes.streams.count = fitting
  }
  const names = Object.keys(proofs).filter(name => values.only === undefined || name === values.only)
  if (names.length === 0) {
    console.error(`--only takes ${Object.keys(proofs).join(', ')}.`)
    process.exitCode = 64
  }
  const results = {}
  for (const name of names) {
    const result = await proofs[name](sizes[name])
    results[name] = result
    if (values.format === 'text') console.log(name, result)
    if (!result.holds) process.exitCode = 1
  }
  if (values.format === 'json') console.log(JSON.stringify(results))
}

/** As a process of its own, on orders of its parent. */
async function play(role) {
  const send = report => process.connected && process.send(report)
  const scene = await new Promise(resolve => process.once('message', resolve))
  process.once('disconnect', () => process.exit())
  if (role === 'upstream') {
    const { run } = await import('./hostile/upstream.mjs')
    await run(send)
  } else {
    const clients = { ...(await import('./hostile/clients.mjs')), ...(await import('./hostile/logins.mjs')) }
    await clients[role](send, scene)
  }
}

function openFiles() {
  const limits = readFileSync('/proc/self/limits', 'utf8')
  return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY)
}
