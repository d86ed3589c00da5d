import { expect, onTestFinished, test } from 'vitest'
import { createLog } from '../../src/base/log.ts'
import { systemRandom } from '../../src/base/random.ts'
import { ConnectedNodes } from '../../src/server/nodes/connected-nodes.ts'
import type { ServingNodes } from '../../src/store/nodes/types.ts'
import { testClock } from '../support/test-clock.ts'
import { carriers, endOf } from '../tunnel/pair.ts'

const IDENTITY = { node: 'gpu-1', family: 'f', labels: {} }
const FIRST = { identity: IDENTITY, instance: 'a'.repeat(16), address: '10.0.0.1' }
const SECOND = { identity: IDENTITY, instance: 'b'.repeat(16), address: '10.0.0.2' }

type States = ServingNodes['states']

/** The nodes of a gateway, whose store says this about them. */
async function scene(states?: States) {
  const clock = testClock()
  const lines: string[] = []
  const joined: States = async () => [
    { node: 'gpu-1', family: 'f', issuedAtMs: clock.nowMs(), isDraining: false },
  ]
  const nodes = new ConnectedNodes({
    store: {
      servingNodes: {
        states: states ?? joined,
        reportConnections: async () => undefined,
      } as Partial<ServingNodes> as ServingNodes,
    },
    clock,
    random: systemRandom,
    log: createLog({ write: line => void lines.push(line) }, { level: 'info', pretty: false, colour: false }),
    version: 'test',
    onDrain: () => undefined,
    onGone: () => undefined,
  })
  const listener = await carriers('tcp')
  onTestFinished(async () => {
    await nodes.close()
    listener.close()
  })
  const dial = async (as: typeof FIRST) => {
    const { gateway, node } = await listener.dial()
    nodes.accept({ ...as, carrier: gateway, head: Buffer.alloc(0) })
    const end = endOf(node, { side: 'node', clock })
    await end.hello
    return end
  }
  return { clock, lines, nodes, listener, dial }
}

test('a living node keeps its name; one that is silent loses it to a second one, and gets the reason', async () => {
  const { clock, lines, nodes, dial } = await scene()
  const first = await dial(FIRST)
  expect(nodes.mayConnect(SECOND)).toBe(false)
  await expect
    .poll(() => first.controls)
    .toContainEqual({ type: 'notice', code: 'name_taken', address: '10.0.0.2' })
  // The same process may always come back.
  expect(nodes.mayConnect(FIRST)).toBe(true)

  // Nothing is read between: 16 seconds of silence at once.
  clock.advance(16_000)
  expect(nodes.isAlive('gpu-1')).toBe(false)
  expect(nodes.obstacle('gpu-1', 'vllm')).toBe('silent')
  expect(nodes.mayConnect(SECOND)).toBe(true)
  const second = await dial(SECOND)
  await first.closed
  expect(first.controls).toContainEqual({ type: 'closing', code: 'superseded' })
  expect(nodes.isAlive('gpu-1')).toBe(true)
  expect(nodes.mayConnect(FIRST)).toBe(false)
  await expect
    .poll(() => second.controls)
    .toContainEqual({ type: 'notice', code: 'name_taken', address: '10.0.0.1' })
  expect(lines.join('')).toContain('a second node has the name of a connected one')
})

test('a node that connects while the states are read is not taken for one that was revoked', async () => {
  const answers: ((states: Awaited<ReturnType<States>>) => void)[] = []
  const { clock, nodes, dial } = await scene(() => new Promise(resolve => answers.push(resolve)))
  const state = (node: string) => ({ node, family: 'f', issuedAtMs: clock.nowMs(), isDraining: false })
  await dial({ ...FIRST, identity: { ...IDENTITY, node: 'gpu-0' } })
  await clock.waiting()
  clock.advance(2_000)
  await expect.poll(() => answers.length).toBe(1)
  await dial(FIRST)
  answers[0]?.([state('gpu-0')])
  await expect.poll(() => answers.length, { interval: 5 }).toBe(1)
  await new Promise(setImmediate)
  expect([nodes.isAlive('gpu-0'), nodes.isAlive('gpu-1')]).toEqual([true, true])
})

test('a connection that comes while the gateway closes is closed as well', async () => {
  const { nodes, listener } = await scene()
  const { gateway } = await listener.dial()
  await nodes.close()
  nodes.accept({ ...FIRST, carrier: gateway, head: Buffer.alloc(0) })
  expect(gateway.destroyed).toBe(true)
  expect(nodes.isAlive('gpu-1')).toBe(false)
})
