import { afterAll, describe, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/random.ts'
import { startDemoUpstream } from '../../src/demo/server.ts'
import { CALLS } from '../clients/calls.ts'
import { type Door, GENERATIONS } from '../clients/door.ts'

const demo = await startDemoUpstream({
  host: '127.0.0.1',
  port: 0,
  paceMs: 0,
  clock: systemClock,
  random: systemRandom,
})
afterAll(() => demo.close())

const door: Omit<Door, 'sdks'> = {
  url: demo.url,
  key: 'any-key-will-do',
  models: {
    chat: 'demo-chat',
    messages: 'demo-messages',
    embedding: 'demo-embedding',
    rerank: 'demo-rerank',
  },
}

describe.each(GENERATIONS)('the real SDKs of the $generation, pointed at the demo upstream', sdks => {
  for (const call of CALLS) test(call.title, () => call.run({ ...door, sdks }))
})
