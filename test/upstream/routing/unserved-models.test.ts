import { expect, it } from 'vitest'
import { UpstreamFailure } from '../../../src/upstream/classify.ts'
import { HealthRegistry, unserved } from '../../../src/upstream/routing/health-registry.ts'
import { snapshotOf } from '../../snapshot/configured.ts'
import { testClock } from '../../support/test-clock.ts'

const ill = new UpstreamFailure('upstream_error', undefined, { countsAsFailure: true })

const scene = async (publications: string) => {
  const snapshot = await snapshotOf(`
version: 1
settings: { health: { unhealthy_after: 1 } }
endpoints:
  a: { protocol: openai, base_url: "http://x", served_model: m }
  b: { protocol: openai, base_url: "http://y", served_model: m }
  c: { protocol: anthropic, base_url: "http://z", served_model: m }
  chats: { protocol: openai, base_url: "http://v", served_model: m, paths: [/v1/chat/completions] }
  embeds: { protocol: openai, base_url: "http://w", served_model: m, paths: [/v1/embeddings] }
publications:
${publications}
`)
  const health = new HealthRegistry(testClock())
  health.adopt(snapshot)
  const fail = (name: string) => {
    const endpoint = snapshot.endpoints.get(name)
    if (endpoint) health.of(endpoint).failed(ill, 'key k')
  }
  return { snapshot, health, fail }
}

it('names each listed model and protocol that only unhealthy endpoints could serve', async () => {
  const { snapshot, health, fail } = await scene(`
  both: { bindings: [{ endpoint: a }, { endpoint: b }, { endpoint: c }] }
  idle: { bindings: [{ endpoint: a }, { endpoint: b, weight: 0 }] }
  draft: { status: draft, bindings: [{ endpoint: a }] }
  unbound: {}
`)
  expect(unserved(snapshot, health)).toEqual([])
  fail('a')
  expect(unserved(snapshot, health)).toEqual(['no_healthy_endpoint: no endpoint of idle (openai) is healthy'])
  fail('c')
  expect(unserved(snapshot, health)).toEqual([
    'no_healthy_endpoint: no endpoint of both (anthropic) is healthy',
    'no_healthy_endpoint: no endpoint of idle (openai) is healthy',
  ])
})

it('names a path that only unhealthy endpoints serve', async () => {
  const { snapshot, health, fail } = await scene(`
  m: { bindings: [{ endpoint: a }, { endpoint: chats }, { endpoint: embeds }] }
  n: { bindings: [{ endpoint: chats }, { endpoint: embeds }] }
`)
  fail('embeds')
  expect(unserved(snapshot, health)).toEqual([
    'no_healthy_endpoint: no endpoint of n (/v1/embeddings) is healthy',
  ])
  fail('chats')
  expect(unserved(snapshot, health)).toEqual(['no_healthy_endpoint: no endpoint of n (openai) is healthy'])
})

it('names ten, and counts the rest', async () => {
  const names = Array.from({ length: 12 }, (_, index) => `  m${index}: { bindings: [{ endpoint: a }] }`)
  const { snapshot, health, fail } = await scene(names.join('\n'))
  fail('a')
  expect(unserved(snapshot, health)).toHaveLength(11)
  expect(unserved(snapshot, health).at(-1)).toBe('no_healthy_endpoint: and 2 more')
})
