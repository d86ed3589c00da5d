// @ts-check
import { setTimeout as pause } from 'node:timers/promises'
import { ADMIN_PASSWORD } from '../contestants.mjs'
import { threadUs } from '../cpu.mjs'
import { asking } from './pairs.mjs'
import { figure, turns } from './turns.mjs'

const CONSOLES = 20
/** A session has at most so many streams of events. */
const STREAMS_A_SESSION = 4
/** What the overview asks for when it is opened; then it only watches. */
const OVERVIEW = ['session', 'status', 'pulse', 'config/revisions?limit=50']
/**
 * Until the consoles have what they show. The gateway without them rests for as long: what is slow after a rest, such as
 * caches of the processor that others have used, is no part of what consoles cost.
 */
const OPENED_MS = 1_500

/**
 * One gateway with open consoles, as the subject, and the same without, as the reference.
 * @param {import('../run.mjs').Bench} bench
 * @param {import('../scenarios.mjs').Scenario} scenario
 * @returns {Promise<import('../report.mjs').Row[]>}
 */
export async function measureConsoles({ stage, size, rounds, durationMs }, scenario) {
  const gateway = await stage.gateway('consoles', size)
  await gateway.gw('users', 'create', 'admin', '--role', 'admin', '--password', '-')
  const api = `http://127.0.0.1:${gateway.control}/api/v1`
  // The gateway answers before its control plane is loaded.
  while (!(await fetch(`${api}/session`).catch(() => undefined))) await pause(100)
  const sessions = []
  for (let at = 0; at < CONSOLES / STREAMS_A_SESSION; at++) sessions.push(await logIn(api))
  const converse = asking(stage.client, scenario)
  await converse(gateway, durationMs)
  const [watched, alone] = [{ ...gateway }, { ...gateway }]
  let bytes = 0
  const pairs = await turns(rounds, [watched, alone], async each => {
    const leaving = new AbortController()
    const open = Array.from({ length: each === watched ? CONSOLES : 0 }, (_, at) =>
      openConsole(api, sessions[at % sessions.length] ?? '', leaving.signal, read => {
        bytes += read
      }),
    )
    await pause(OPENED_MS)
    const before = threadUs(each.pid, 'control')
    const run = await converse(each, durationMs)
    const controlUs = (threadUs(each.pid, 'control') - before) / ((run.perSecond * durationMs) / 1_000)
    leaving.abort()
    await Promise.all(open)
    return { ...run, controlUs }
  })
  await gateway.end()
  if (bytes === 0) throw new Error('the consoles have seen no event')
  return [
    { what: `${scenario.unit}s a second`, unit: '/s', ...figure(pairs, run => run.perSecond) },
    { what: 'p50', unit: 'ms', ...figure(pairs, run => run.p50Ms) },
    { what: 'p99', unit: 'ms', ...figure(pairs, run => run.p99Ms) },
    { what: `CPU a ${scenario.unit}`, unit: 'µs', ...figure(pairs, run => run.cpuUs) },
    { what: 'of it on the main thread', unit: 'µs', ...figure(pairs, run => run.mainUs) },
    {
      what: 'of it on the thread of the control plane',
      unit: 'µs',
      ...figure(pairs, run => run.controlUs),
      ratio: undefined,
    },
  ]
}

/** @param {string} api @returns {Promise<string>} the cookie */
async function logIn(api) {
  const answer = await fetch(`${api}/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
    body: JSON.stringify({ username: 'admin', password: ADMIN_PASSWORD, carrier: 'cookie' }),
  })
  const cookie = answer.headers.get('set-cookie')?.split(';')[0]
  if (cookie === undefined) throw new Error(`the log-in answers ${answer.status}: ${await answer.text()}`)
  return cookie
}

/**
 * The overview, until the signal aborts.
 * @param {string} api
 * @param {string} cookie
 * @param {AbortSignal} signal
 * @param {(bytes: number) => void} onRead
 */
async function openConsole(api, cookie, signal, onRead) {
  const headers = { cookie }
  try {
    for (const path of OVERVIEW) await (await fetch(`${api}/${path}`, { headers, signal })).arrayBuffer()
    const events = await fetch(`${api}/events`, { headers, signal })
    if (!events.ok || !events.body) throw new Error(`the events answer ${events.status}`)
    for await (const chunk of events.body) onRead(chunk.byteLength)
  } catch (error) {
    if (!signal.aborted) throw error
  }
}
