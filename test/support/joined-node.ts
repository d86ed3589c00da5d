import { keyDigest } from '../../src/base/api-key.ts'
import { systemClock } from '../../src/base/clock.ts'
import { openServingStore, openStore } from '../../src/store/open.ts'
import { isPostgresUrl } from '../../src/store/url.ts'

const ENGINE = { name: 'vllm', state: 'up', kind: 'vllm', models: ['m'] } as const

/** A node that has joined and is connected, as a gateway writes it. @param at the URL of the store, or the path of its file */
export async function joinedNode(at: string, node: string): Promise<void> {
  const url = isPostgresUrl(at) || at.startsWith('sqlite:') ? at : `sqlite:${at}`
  const options = { mode: 'write', clock: systemClock, folder: '/' } as const
  const token = keyDigest(`token of ${node} ${Math.random()}`)
  const store = await openStore(url, options)
  const serving = await openServingStore(url, options)
  try {
    await store.nodes.createJoinToken({
      id: token.slice(0, 12),
      digest: token,
      pattern: node,
      labels: {},
      uses: 1,
      expiresAtMs: Date.UTC(2099, 0),
    })
    await serving.servingNodes.join(token, node, keyDigest(`credential of ${node}`))
    const connection = { address: '192.0.2.7', version: '0.1.0', connectedAtMs: systemClock.nowMs() }
    await serving.servingNodes.reportConnections('gateway', [{ node, ...connection, engines: [ENGINE] }], [])
  } finally {
    await serving.close()
    await store.close()
  }
}
