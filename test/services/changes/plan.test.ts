import { describe, expect, test } from 'vitest'
import { plan } from '../../../src/services/changes/plan.ts'
import { planToJson } from '../../../src/services/changes/plan-json.ts'
import { emptyLive } from './empty-live.ts'
import {
  binding,
  endpoint,
  key,
  liveWith,
  madeBy,
  ownedBy,
  publication,
  settings,
  tenant,
  tree,
  treeOf,
} from './trees.ts'

const summary = (made: ReturnType<typeof plan>) => made.changes.map(({ action, name }) => `${action} ${name}`)

describe('changes', () => {
  test('everything is created where nothing stands', () => {
    const made = plan(emptyLive(0), tree(key('k', {}, 9), endpoint('a')))
    expect(made).toMatchObject({
      base: 0,
      set: 'default',
      counts: { create: 2, update: 0, delete: 0, unchanged: 0 },
    })
    expect(made.changes).toMatchObject([
      { action: 'create', kind: 'endpoint', name: 'a' },
      { action: 'create', kind: 'key', name: 'k', place: { file: 'gw.yaml', line: 9 } },
    ])
    expect(made.changes[1]?.place).not.toHaveProperty('column')
    expect(made.changes[0]?.fields).toContainEqual({
      path: 'base_url',
      type: 'value',
      after: 'https://api.example.com/v1',
    })
  })

  test('nothing is changed by a default that is written out, or by a line that moved', () => {
    const made = plan(
      liveWith([ownedBy('default', endpoint('a', {}, 3))]),
      tree(endpoint('a', { enabled: true, timeouts: { connect: '5000ms' } }, 8)),
    )
    expect(made).toMatchObject({ changes: [], counts: { create: 0, update: 0, delete: 0, unchanged: 1 } })
  })

  test('deleted settings show what they fall back to', () => {
    const made = plan(liveWith([ownedBy('default', settings({ currency: 'EUR' }))]), tree(endpoint('a')))
    expect(made.changes).toContainEqual({
      action: 'delete',
      kind: 'settings',
      name: 'settings',
      fields: [{ path: 'currency', type: 'value', before: 'EUR', after: 'USD' }],
      place: { file: 'default.yaml', line: 1 },
    })
  })

  test('is sorted by kind, in the order of reference, and by name', () => {
    const live = liveWith([ownedBy('default', endpoint('b')), ownedBy('default', key('old'))])
    const made = plan(live, tree(key('new'), tenant('t'), endpoint('a'), endpoint('c')))
    expect(summary(made)).toEqual([
      'create a',
      'delete b',
      'create c',
      'create t',
      'create new',
      'delete old',
    ])
  })

  test('a binding is keyed by what it binds, wherever it stands in its list', () => {
    const base = [endpoint('a'), endpoint('b'), publication('m')]
    const live = liveWith(
      [...base, binding('m', 'a', {}, 1), binding('m', 'b', {}, 2)].map(r => ownedBy('default', r)),
    )
    const made = plan(live, tree(...base, binding('m', 'b', {}, 1), binding('m', 'a', { weight: 5 }, 2)))
    expect(made.changes).toMatchObject([
      { name: 'm a', action: 'update', fields: [{ path: 'weight', before: 1, after: 5 }] },
    ])
  })

  test('what went from the files is deleted, named by the line where it was', () => {
    const made = plan(liveWith([ownedBy('default', key('old', {}, 12))]), tree())
    expect(made.changes).toEqual([
      { action: 'delete', kind: 'key', name: 'old', fields: [], place: { file: 'default.yaml', line: 12 } },
    ])
  })

  test('no secret reference reaches the plan', () => {
    const before = endpoint('a', { upstream_key: { env: 'CANARY_OLD' } })
    const after = endpoint('a', { upstream_key: { env: 'CANARY_NEW' } })
    const made = plan(
      liveWith([ownedBy('default', before)]),
      tree(after, key('k', { secret: { env: 'CANARY_KEY' } })),
    )
    expect(made.counts).toMatchObject({ create: 1, update: 1 })
    expect(JSON.stringify([made, planToJson(made)])).not.toContain('CANARY')
  })
})

describe('owners', () => {
  test('what others own is left alone, and counted', () => {
    const live = liveWith([
      ownedBy('default', endpoint('a')),
      ownedBy('team-b', endpoint('b')),
      madeBy('cli', key('c')),
      madeBy('rest', key('d')),
      madeBy('rest', key('e')),
    ])
    const made = plan(live, tree(endpoint('a')))
    expect(made).toMatchObject({ changes: [], unmanaged: { otherSets: 1, cli: 1, rest: 2 } })
  })

  test('a set deletes only what is its own', () => {
    const live = liveWith([
      ownedBy('default', key('a')),
      ownedBy('team-b', key('b')),
      madeBy('cli', key('c')),
    ])
    expect(summary(plan(live, treeOf('team-b')))).toEqual(['delete b'])
  })

  test('what others own cannot be declared: every conflict at once, with both places', () => {
    const live = liveWith([
      ownedBy('team-b', endpoint('b', {}, 12)),
      madeBy('cli', key('c')),
      madeBy('rest', tenant('t')),
    ])
    const desired = tree(endpoint('b', {}, 3), key('c', {}, 5), tenant('t', {}, 7), key('mine'))
    expect(() => plan(live, desired)).toThrow(
      expect.objectContaining({
        code: 'owned_by_other',
        message: [
          '3 conflicts:',
          '  gw.yaml:3: the endpoint b belongs to the set team-b (team-b.yaml:12).',
          '  gw.yaml:7: the tenant t belongs to REST.',
          '  gw.yaml:5: the key c belongs to the command line.',
        ].join('\n'),
        conflicts: expect.arrayContaining([
          expect.objectContaining({
            kind: 'endpoint',
            name: 'b',
            place: { file: 'gw.yaml', line: 3 },
            other: { file: 'team-b.yaml', line: 12 },
          }),
        ]),
      }),
    )
  })

  test('not even with the same content', () => {
    expect(() => plan(liveWith([ownedBy('team-b', key('k'))]), tree(key('k')))).toThrow(
      'belongs to the set team-b',
    )
    expect(() => plan(liveWith([ownedBy('team-b', settings({}))]), tree(settings({})))).toThrow(
      'the settings belong to the set team-b',
    )
  })
})

describe('references', () => {
  test('an endpoint that another set has bound cannot go', () => {
    const live = liveWith([
      ownedBy('default', endpoint('a')),
      ownedBy('team-b', publication('m')),
      ownedBy('team-b', binding('m', 'a', {}, 4)),
    ])
    expect(() => plan(live, tree())).toThrow(
      expect.objectContaining({
        code: 'still_referenced',
        message:
          'The endpoint a cannot be deleted: the binding of m to a, which belongs to the set team-b (team-b.yaml:4), refers to it.',
        conflicts: [
          expect.objectContaining({ kind: 'endpoint', name: 'a', other: { file: 'team-b.yaml', line: 4 } }),
        ],
      }),
    )
  })

  test('a tenant that a key of the command line belongs to cannot go', () => {
    const live = liveWith([
      ownedBy('default', tenant('t')),
      madeBy('cli', key('k', { kind: 'tenant', tenant: 't' })),
    ])
    expect(() => plan(live, tree())).toThrow(
      'The tenant t cannot be deleted: the key k, which belongs to the command line, refers to it.',
    )
  })

  test('a declared resource may refer to what others own, and to nothing that does not stand', () => {
    const live = liveWith([ownedBy('team-b', endpoint('b'))])
    expect(summary(plan(live, tree(publication('m'), binding('m', 'b'))))).toEqual(['create m', 'create m b'])
    expect(() => plan(live, tree(publication('m'), binding('m', 'x', {}, 6)))).toThrow(
      'gw.yaml:6: the binding of m to x refers to the endpoint x, which does not exist.',
    )
  })

  test('what goes together goes without a conflict', () => {
    const live = liveWith(
      [endpoint('a'), publication('m'), binding('m', 'a')].map(resource => ownedBy('default', resource)),
    )
    expect(plan(live, tree()).counts).toEqual({ create: 0, update: 0, delete: 3, unchanged: 0 })
  })
})
