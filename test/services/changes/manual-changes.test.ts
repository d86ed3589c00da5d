import { describe, expect, onTestFinished, test } from 'vitest'
import {
  changeManually,
  createManually,
  deleteManually,
} from '../../../src/services/changes/manual-changes.ts'
import { ManagedError, UnknownReferenceError } from '../../../src/services/changes/rejections.ts'
import { canonical, endpoint, put } from '../../store/samples.ts'
import { STORES } from '../../store/stores.ts'
import { testClock } from '../../support/test-clock.ts'

const REST = { origin: 'rest', author: 'ada' } as const
const publication = { kind: 'publication', name: 'chat', spec: canonical('publication', {}) } as const
const binding = {
  kind: 'binding',
  name: 'chat declared',
  spec: canonical('binding', { publication: 'chat', endpoint: 'declared' }),
} as const

describe.each(Object.entries(STORES))('on %s', (_, emptyDatabase) => {
  async function setUp() {
    const store = await emptyDatabase(onTestFinished).open(testClock(1_000))
    await put(store, endpoint('declared'))
    return store
  }

  test('each change is a revision of its own, signed, and belongs to whose hand it was', async () => {
    const store = await setUp()
    expect(await createManually(store, publication, REST)).toMatchObject({
      id: 2,
      origin: 'rest',
      author: 'ada',
      counts: { create: 1 },
    })
    expect((await store.find({ kind: 'publication' })).resources).toMatchObject([
      { name: 'chat', owner: 'rest', createdRevision: 2, updatedRevision: 2 },
    ])
    const changed = await changeManually(
      store,
      { kind: 'publication', name: 'chat', version: 2 },
      ({ spec }) => ({ ...spec, owned_by: 'us' }),
      { origin: 'cli' },
    )
    expect(changed).toMatchObject({ id: 3, origin: 'cli', counts: { update: 1 } })
    expect((await store.find({ kind: 'publication' })).resources).toMatchObject([
      { owner: 'rest', spec: { owned_by: 'us' }, updatedRevision: 3 },
    ])
    expect(await deleteManually(store, { kind: 'publication', name: 'chat' }, REST)).toMatchObject({ id: 4 })
    expect((await store.find({ kind: 'publication' })).resources).toEqual([])
  })

  test('a change that changes nothing makes no revision', async () => {
    const store = await setUp()
    await createManually(store, publication, REST)
    const same = await changeManually(store, publication, ({ spec }) => ({ ...spec }), REST)
    expect([same, (await store.head()).revision]).toEqual([undefined, 2])
  })

  test('what a file declares is rejected with its line', async () => {
    const store = await setUp()
    const target = { kind: 'endpoint', name: 'declared' } as const
    for (const attempt of [
      () => changeManually(store, target, ({ spec }) => ({ ...spec, enabled: false }), REST),
      () => deleteManually(store, target, REST),
    ]) {
      const error = await attempt().then(
        () => undefined,
        (thrown: unknown) => thrown,
      )
      expect(error).toBeInstanceOf(ManagedError)
      expect(error).toMatchObject({ code: 'owned_by_other', place: { file: 'gw.yaml', line: 3 } })
    }
    await expect(
      createManually(store, { ...target, spec: endpoint('declared').spec }, REST),
    ).rejects.toMatchObject({
      code: 'already_exists',
      message: 'There already is an endpoint declared; it belongs to the set default (gw.yaml:3).',
    })
    expect((await store.head()).revision).toBe(1)
  })

  test('what has changed since it was read is left as it is', async () => {
    const store = await setUp()
    await createManually(store, publication, REST)
    const stale = { kind: 'publication', name: 'chat', version: 1 } as const
    const edit = () => canonical('publication', { status: 'banned' })
    await expect(changeManually(store, stale, edit, REST)).rejects.toMatchObject({ code: 'revision_changed' })
    await expect(deleteManually(store, stale, REST)).rejects.toMatchObject({ code: 'revision_changed' })
    await expect(deleteManually(store, { kind: 'publication', name: 'none' }, REST)).rejects.toMatchObject({
      code: 'not_found',
      message: 'There is no publication none.',
    })
  })

  test('what it refers to must stand, and what is referred to cannot go', async () => {
    const store = await setUp()
    const toNothing = await createManually(store, binding, REST).then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    expect(toNothing).toBeInstanceOf(UnknownReferenceError)
    expect(toNothing).toMatchObject({ field: 'publication', message: 'There is no publication chat.' })
    await createManually(store, publication, REST)
    await createManually(store, binding, REST)
    await expect(deleteManually(store, publication, REST)).rejects.toMatchObject({
      code: 'still_referenced',
      message: expect.stringContaining('The publication chat cannot be deleted'),
    })
    await deleteManually(store, binding, REST)
    await deleteManually(store, publication, REST)
  })

  test('nothing is made that a gateway could not serve', async () => {
    const store = await setUp()
    const check = async () => ['it clashes']
    await expect(createManually(store, publication, { ...REST, check })).rejects.toMatchObject({
      code: 'not_servable',
      message: 'it clashes',
    })
    expect((await store.head()).revision).toBe(1)
  })
})
