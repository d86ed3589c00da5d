import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/random.ts'
import { startDemoUpstream } from '../../src/demo/server.ts'
import { joinAndRun } from '../support/running-node.ts'
import { tempDir } from '../support/temp-dir.ts'
import { EXAMPLE_CONFIG, wholeGateway } from '../support/whole-gateway.ts'
import { CALLS } from './calls.ts'
import { type Door, GENERATIONS } from './door.ts'

/** config.example with its endpoints on a node. */
const files = tempDir(afterAll)
for (const name of readdirSync(EXAMPLE_CONFIG)) {
  const text = readFileSync(join(EXAMPLE_CONFIG, name), 'utf8')
  files.write(name, text.replace(/^ {2}base_url: .*$/m, '  nodes: { names: [gpu-1], engine: demo }'))
}
files.write('nodes.yaml', 'version: 1\nnodes: { gpu-1: {} }\n')

const demo = await startDemoUpstream({
  host: '127.0.0.1',
  port: 0,
  paceMs: 0,
  clock: systemClock,
  random: systemRandom,
})
afterAll(() => demo.close())
const gateway = await wholeGateway(afterAll, files.path)
await joinAndRun(gateway, afterAll, 'gpu-1', [
  { name: 'demo', host: '127.0.0.1', port: Number(new URL(demo.url).port) },
])

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

describe.each(GENERATIONS)('the real SDKs of the $generation, through a node', sdks => {
  for (const call of CALLS) test(call.title, () => call.run({ ...door, sdks }))
})

test('the calls are billed', async () => {
  const usage = () =>
    gateway.inStore(({ store }) =>
      store.accounting.usage({ by: 'endpoint', sinceMs: 0, untilMs: systemClock.nowMs() + 3_600_000 }),
    )
  await expect
    .poll(usage)
    .toEqual(
      expect.arrayContaining([
        expect.objectContaining({ label: 'demo-openai', amountNano: expect.any(BigInt) as bigint }),
        expect.objectContaining({ label: 'demo-anthropic', amountNano: expect.any(BigInt) as bigint }),
      ]),
    )
  expect(await gateway.inStore(({ store }) => store.accounting.verify())).toMatchObject({ findings: [] })
})
