import { expect, test } from 'vitest'
import { documentOf, exportSet, knownOutside } from '../../../src/services/changes/export.ts'
import { endpoint, key, liveWith, madeBy, node, ownedBy, publication, settings, tenant } from './trees.ts'

test('an export holds what the set owns, and nothing else', () => {
  const live = liveWith([ownedBy('default', key('a')), ownedBy('b', key('b')), madeBy('cli', key('c'))])
  expect(exportSet(live, 'default')).toEqual([{ kind: 'key', name: 'a', spec: key('a').spec }])
  expect(exportSet(live, 'absent')).toEqual([])
})

test('a document has every kind', () => {
  const kinds = [node('gpu-1'), endpoint('e'), publication('m'), tenant('t'), key('k'), settings({})]
  const document = documentOf(
    'default',
    kinds.map(({ kind, name, spec }) => ({ kind, name, spec })),
  )
  expect(Object.keys(document).toSorted()).toEqual(
    ['version', 'set', 'settings', 'nodes', 'endpoints', 'publications', 'tenants', 'keys'].toSorted(),
  )
})

test('files may refer to all that other owners have', () => {
  const live = liveWith([
    ownedBy('default', tenant('a')),
    ownedBy('b', tenant('b')),
    madeBy('cli', tenant('c')),
  ])
  expect([...knownOutside(live, 'default')]).toEqual(['tenant/b', 'tenant/c'])
  expect([...knownOutside(live)]).toEqual(['tenant/a', 'tenant/b', 'tenant/c'])
})
