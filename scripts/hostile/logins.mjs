/** Many log-ins at once at the control plane, and what normal traffic through the gateway sees of them. */
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { inWorld, median } from './proof.mjs'

const PASSWORD = 'correct horse battery'

/**
 * As many log in at once as `count`, again and again. `heedful` ones have the right password and wait for as long as
 * they are asked to; the others guess, and wait for nothing.
 */
export async function logIns(send, { controlPort, count, heedful }) {
  const agent = new Agent({ keepAlive: true, maxSockets: count })
  const body = JSON.stringify({ username: 'admin', password: heedful ? PASSWORD : 'wrong' })
  const options = {
    agent,
    port: controlPort,
    host: '127.0.0.1',
    method: 'POST',
    path: '/api/v1/session',
    headers: { 'content-type': 'application/json', 'content-length': body.length },
  }
  let statuses = {}
  const ask = async () => {
    const asked = request(options).end(body)
    const [answer] = await once(asked, 'response')
    answer.resume()
    await once(answer, 'end')
    statuses[answer.statusCode] = (statuses[answer.statusCode] ?? 0) + 1
    return Number(answer.headers['retry-after'] ?? 0)
  }
  const person = async () => {
    for (;;) {
      try {
        const retryAfterS = await ask()
        if (heedful) await pause(retryAfterS * (1_000 + Math.random() * 500))
      } catch {
        statuses.none = (statuses.none ?? 0) + 1
        await pause(50)
      }
    }
  }
  for (let index = 0; index < count; index++) void person()
  process.on('message', () => {
    send(statuses)
    statuses = {}
  })
  send({})
}

/** Normal traffic with and without people who log in at once, in pairs of windows in one run. */
export function logInsBeside({ people, pairs, windowMs, rate, connections }) {
  return inWorld({ password: PASSWORD }, async world => {
    const normal = world.actor('normal', { connections, rate })
    await normal.report()
    const window = async () => {
      await normal.ask()
      await pause(windowMs)
      return normal.ask()
    }
    await window() // warm
    const kinds = {}
    for (const [kind, heedful] of [
      ['logging_in', true],
      ['guessing', false],
    ]) {
      const rounds = []
      for (let pair = 0; pair < pairs; pair++) {
        const without = await window()
        const clients = world.actor('logIns', { count: people, heedful })
        await clients.report()
        await pause(500)
        await clients.ask()
        const beside = await window()
        const statuses = await clients.ask()
        await clients.end()
        await pause(1_000)
        rounds.push({ without, beside, statuses })
      }
      kinds[kind] = summary(rounds)
    }
    const holds = Object.values(kinds).every(
      kind => kind.failed === 0 && kind.p99_ratio <= 1.2 && median(kind.p99_ratios) <= 1.2,
    )
    return { people, ...kinds, holds }
  })
}

function summary(rounds) {
  // Of medians, not of pairs: a disk that stops for a moment is in one window or the other.
  const [p99Before, p99After] = ['without', 'beside'].map(side =>
    median(rounds.map(round => round[side].p99Ms)),
  )
  const both = percentile => [
    hundredths(median(rounds.map(({ without }) => without[percentile]))),
    hundredths(median(rounds.map(({ beside }) => beside[percentile]))),
  ]
  const statuses = {}
  for (const round of rounds) {
    for (const [status, count] of Object.entries(round.statuses)) {
      statuses[status] = (statuses[status] ?? 0) + count
    }
  }
  return {
    p50_ms: both('p50Ms'),
    p99_ms: both('p99Ms'),
    p99_ratio: hundredths(p99After / p99Before),
    p99_ratios: rounds.map(({ without, beside }) => hundredths(beside.p99Ms / without.p99Ms)),
    answered: rounds.reduce((sum, { beside }) => sum + beside.answered, 0),
    failed: rounds.reduce((sum, { beside }) => sum + beside.failed, 0),
    statuses,
  }
}

function hundredths(number) {
  return Math.round(number * 100) / 100
}
