import { afterAll, describe, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/random.ts'
import { startDemoUpstream } from '../../src/demo/server.ts'
import { EXAMPLE_CONFIG, wholeGateway } from '../support/whole-gateway.ts'
import { CALLS } from './calls.ts'
import { type Door, GENERATIONS } from './door.ts'

const demo = await startDemoUpstream({
  host: '127.0.0.1',
  port: 0,
  paceMs: 0,
  clock: systemClock,
  random: systemRandom,
})
afterAll(() => demo.close())
const gateway = await wholeGateway(afterAll, EXAMPLE_CONFIG, { GW_DEMO_URL: demo.url })

const door: Omit<Door, 'sdks'> = {
  url: gateway.gatewayUrl,
  key: await gateway.issue('platform-test'),
  models: {
    chat: 'chat',
    messages: 'claude-demo',
    embedding: 'text-embedding-demo',
    rerank: 'rerank-demo',
  },
}

describe.each(GENERATIONS)(
  'the real SDKs of the $generation, through a gateway that serves config.example',
  sdks => {
    for (const call of CALLS) test(call.title, () => call.run({ ...door, sdks }))
  },
)
