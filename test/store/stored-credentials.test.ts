import { randomBytes } from 'node:crypto'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type StoredCredential, storedFor } from '../../src/schema/stored-credential.ts'
import type { Store } from '../../src/store/types.ts'
import { testClock } from '../support/test-clock.ts'
import { commitOn, endpoint, key, remove } from './samples.ts'
import { STORES } from './stores.ts'

const A = 'https://a.example.com/v1'
const B = 'https://b.example.com/v1'
const REST = { owner: 'rest' } as const

function secret(name: string, url: string): StoredCredential {
  const bytes = { nonce: randomBytes(12), sealed: randomBytes(30) }
  return {
    id: randomBytes(12).toString('hex'),
    boundTo: storedFor(name, { base_url: url }),
    ...bytes,
    createdAtMs: 1_000,
  }
}

/** An endpoint whose credential is kept, as it stands. */
function keeping(name: string, url: string, { id }: StoredCredential) {
  return endpoint(name, { base_url: url, upstream_key: { stored: id } }, REST)
}

async function commit(store: Store, more: Parameters<typeof commitOn>[1]) {
  return store.commit(commitOn((await store.head()).revision, { origin: 'rest', ...more }))
}

describe.each(Object.entries(STORES))('secrets that %s keeps', (_, emptyDatabase) => {
  const open = () => emptyDatabase(onTestFinished).open(testClock(1_000))
  const ids = async (store: Store) => (await store.kept()).map(({ id }) => id)

  test('stand beside the endpoint that they were given for, as they were sealed', async () => {
    const store = await open()
    const given = secret('e', A)
    await commit(store, { puts: [keeping('e', A, given)], kept: [given] })
    expect(await store.kept()).toEqual([given])
    expect((await store.readState()).kept).toEqual([given])
    expect((await store.live()).kept).toEqual([given])
    expect((await store.readStateAt(1)).kept).toEqual([given])
  })

  test('are replaced by the next one for the same use', async () => {
    const store = await open()
    const [old, next] = [secret('e', A), secret('e', A)]
    await commit(store, { puts: [keeping('e', A, old)], kept: [old] })
    await commit(store, { puts: [keeping('e', A, next)], kept: [next] })
    expect(await ids(store)).toEqual([next.id])
    // What stood before stands again with what is kept now: the old one is no good at the vendor either.
    await commit(store, { puts: [keeping('e', A, old)] })
    expect(await ids(store)).toEqual([next.id])
  })

  test('are for the nodes that an endpoint had when they were given, and no others', async () => {
    const store = await open()
    const on = (...names: string[]) => ({ names, engine: 'vllm' })
    const given = { ...secret('e', A), boundTo: storedFor('e', { nodes: on('gpu-1') }) }
    const at = (nodes: ReturnType<typeof on>) =>
      endpoint('e', { base_url: undefined, nodes, upstream_key: { stored: given.id } }, REST)
    await commit(store, { puts: [at(on('gpu-1'))], kept: [given] })
    await expect(commit(store, { puts: [at(on('gpu-1', 'other'))] })).rejects.toMatchObject({
      code: 'not_servable',
      message: 'endpoint e: no credential is stored for its nodes',
    })
  })

  test('stay for the origin that an endpoint has left, so that it can be rolled back', async () => {
    const store = await open()
    const [first, second] = [secret('e', A), secret('e', B)]
    await commit(store, { puts: [keeping('e', A, first)], kept: [first] })
    await commit(store, { puts: [keeping('e', B, second)], kept: [second] })
    expect(await ids(store)).toEqual([first.id, second.id])
    await commit(store, { puts: [keeping('e', A, first)] })
    expect(await ids(store)).toEqual([first.id, second.id])
  })

  test('go with their endpoint, and with the last word of it', async () => {
    const store = await open()
    const [gone, taken, stays] = [secret('gone', A), secret('taken', A), secret('gone2', A)]
    await commit(store, {
      puts: [keeping('gone', A, gone), keeping('taken', A, taken), keeping('gone2', A, stays)],
      kept: [gone, taken, stays],
    })
    await remove(store, { kind: 'endpoint', name: 'gone' })
    expect(await ids(store)).toEqual([stays.id, taken.id])
    await commit(store, { puts: [endpoint('taken', { base_url: A }, REST)] })
    expect(await ids(store)).toEqual([stays.id])
    // A reference to somewhere else is none to what is kept.
    await commit(store, { puts: [endpoint('gone2', { base_url: A, upstream_key: { env: 'X' } })] })
    expect(await store.kept()).toEqual([])
    expect((await store.readState()).kept).toBeUndefined()
  })

  test('are not there for an endpoint that stands again after it had gone, which is rejected', async () => {
    const store = await open()
    const given = secret('e', A)
    await commit(store, { puts: [keeping('e', A, given)], kept: [given] })
    await remove(store, { kind: 'endpoint', name: 'e' })
    await expect(commit(store, { puts: [keeping('e', A, given)] })).rejects.toMatchObject({
      code: 'not_servable',
      message: 'endpoint e: no credential is stored for https://a.example.com',
    })
    expect((await store.head()).revision).toBe(2)
  })

  test('are for one endpoint and one origin: another one is rejected', async () => {
    const store = await open()
    const given = secret('e', A)
    await commit(store, { puts: [keeping('e', A, given)], kept: [given] })
    for (const put of [keeping('e', B, given), keeping('f', A, given)]) {
      await expect(commit(store, { puts: [put] })).rejects.toMatchObject({ code: 'not_servable' })
    }
    // Another path of the same origin is the same upstream.
    await commit(store, { puts: [keeping('e', `${A}/openai`, given)] })
    expect((await store.head()).revision).toBe(2)
  })

  test('are none of a rolled back commit', async () => {
    const store = await open()
    const given = secret('e', A)
    const rejected = store.commit(commitOn(0, { puts: [keeping('e', A, given)], kept: [given] }), () =>
      Promise.reject(new Error('no')),
    )
    await expect(rejected).rejects.toThrow('no')
    expect(await store.kept()).toEqual([])
  })

  test('are no concern of other changes', async () => {
    const store = await open()
    const given = secret('e', A)
    await commit(store, { puts: [keeping('e', A, given)], kept: [given] })
    await commit(store, { puts: [key('k')] })
    await remove(store, { kind: 'key', name: 'k' })
    expect(await ids(store)).toEqual([given.id])
  })
})
