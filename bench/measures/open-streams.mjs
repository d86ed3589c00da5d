// @ts-check
import { setTimeout as pause } from 'node:timers/promises'
import { mostStreams } from '../contestants.mjs'
import { residentKb } from '../cpu.mjs'
import { SCENARIOS } from '../scenarios.mjs'
import { asking } from './pairs.mjs'

/** Garbage of opening them is gone by then, or will stay. */
const SETTLE_MS = 1_500

/**
 * Open streams that say something now and then: their memory, and what they cost the chats beside them.
 * @param {import('../run.mjs').Bench} bench
 * @param {import('../scenarios.mjs').Scenario} scenario
 * @returns {Promise<import('../report.mjs').Row[]>}
 */
export async function measureOpenStreams({ stage, fresh, durationMs }, { path, body, connections }) {
  const chat = SCENARIOS.find(({ name }) => name === 'chat-8')
  if (!chat) throw new Error('no chat to have beside them')
  const converse = asking(stage.client, chat)
  const streams = Math.min(connections, mostStreams())
  const measured = []
  for (const start of fresh) {
    const contestant = await start()
    const { port, key, pid } = contestant
    await converse(contestant, 3 * durationMs)
    const alone = await converse(contestant, durationMs)
    const beforeKb = residentKb(pid) ?? Number.NaN
    await stage.otherClient({ order: 'open', port, key, path, body, streams })
    await pause(SETTLE_MS)
    const kilobytes = ((residentKb(pid) ?? Number.NaN) - beforeKb) / streams
    const [beside, watched] = await Promise.all([
      converse(contestant, 2 * durationMs),
      stage.otherClient({ order: 'watch', durationMs: 2 * durationMs }),
    ])
    await stage.otherClient({ order: 'release' })
    await contestant.end()
    measured.push({ kilobytes, kept: beside.perSecond / alone.perSecond, delayMs: watched.p99Ms })
  }
  const [subject, reference] = measured
  if (!subject || !reference) throw new Error('two are compared')
  const beside = (/** @type {'kilobytes' | 'kept' | 'delayMs'} */ what) => ({
    subject: subject[what],
    reference: reference[what],
    ratio: subject[what] / reference[what],
  })
  return [
    { what: `memory of each of ${streams}`, unit: 'KB', ...beside('kilobytes') },
    { what: 'rate of chats that is left', unit: '', ...beside('kept') },
    { what: 'delay of a chunk, p99', unit: 'ms', ...beside('delayMs') },
  ]
}
