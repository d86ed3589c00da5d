import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { decode } from '../../src/schema/kinds.ts'
import { listNodes, nodeCounter, showNode } from '../../src/services/nodes.ts'
import { openStore } from '../../src/store/open.ts'
import { canonical, endpoint, endpointSpec, MINE, put } from '../store/samples.ts'
import { joinedNode } from '../support/joined-node.ts'
import { contextOn } from '../support/local-context.ts'
import { storeOfFolder } from '../support/store-of-folder.ts'
import { tempDir } from '../support/temp-dir.ts'

const on = (nodes: object) => ({ base_url: undefined, nodes: { engine: 'vllm', ...nodes } })

/** A store with two connected nodes, of which the files declare `gpu-1`. */
async function setUp() {
  const folder = tempDir(onTestFinished).path
  const url = await storeOfFolder(folder)
  const store = await openStore(url, { mode: 'create', clock: systemClock })
  onTestFinished(() => store.close())
  await put(
    store,
    { kind: 'node', name: 'gpu-1', spec: canonical('node', { labels: { pool: 'a' } }), ...MINE },
    endpoint('by-label', on({ labels: { pool: 'a' } })),
    endpoint('by-name', on({ names: ['gpu-1', 'gpu-2', 'gpu-3'] })),
    endpoint('by-address'),
  )
  for (const name of ['gpu-1', 'gpu-2']) await joinedNode(url, name)
  return contextOn(store, systemClock)
}

test('a node has the endpoints that choose it, and what the gateway of this process knows of it', async () => {
  const context = await setUp()
  const nodeActivity = async () => ({
    nodes: [
      {
        node: 'gpu-1',
        isAlive: true,
        engines: [{ engine: 'vllm', isUp: true, load: { running: 3, waiting: 1, cache: 0.5 } }],
      },
    ],
    endpoints: [
      { endpoint: 'by-name', node: 'gpu-1', state: 'healthy' as const, sinceMs: 0, inFlight: 2 },
      { endpoint: 'by-name', node: 'gpu-2', state: 'unhealthy' as const, sinceMs: 0, inFlight: 5 },
    ],
  })
  expect(await showNode({ ...context, nodeActivity }, { name: 'gpu-1' })).toMatchObject({
    engines: [{ name: 'vllm', load: { running: 3, waiting: 1, cache: 0.5 } }],
    endpoints: [{ name: 'by-label' }, { name: 'by-name', state: 'healthy', in_flight: 2 }],
  })
  // Another process knows which endpoints choose it, and no more.
  expect((await showNode(context, { name: 'gpu-2' })).endpoints).toEqual([{ name: 'by-name' }])
})

test('the list has filters by a part of the name and by the endpoint that chooses a node', async () => {
  const context = await setUp()
  const names = async (query: { readonly q?: string; readonly endpoint?: string }) =>
    (await listNodes(context, { limit: 9, ...query })).data.map(({ name }) => name)
  expect(await names({ q: 'PU-2' })).toEqual(['gpu-2'])
  expect(await names({ endpoint: 'by-label' })).toEqual(['gpu-1'])
  expect(await names({ endpoint: 'by-name' })).toEqual(['gpu-1', 'gpu-2'])
  expect(await names({ endpoint: 'by-address' })).toEqual([])
})

test('the nodes of an endpoint are counted', async () => {
  const { store } = await setUp()
  const count = await nodeCounter(store)
  const of = (more: Record<string, unknown>) => count(decode('endpoint', endpointSpec(more)))
  expect(of(on({ labels: { pool: 'a' } }))).toEqual({ joined: 1, connected: 1 })
  expect(of(on({ names: ['gpu-3'] }))).toEqual({ joined: 0, connected: 0 })
  expect(of({})).toBeUndefined()
})
