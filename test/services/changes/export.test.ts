import { expect, test } from 'vitest'
import { exportSet, knownOutside } from '../../../src/services/changes/export.ts'
import { key, liveWith, madeBy, ownedBy, tenant } from './trees.ts'

test('an export holds what the set owns, and nothing else', () => {
  const live = liveWith([ownedBy('default', key('a')), ownedBy('b', key('b')), madeBy('cli', key('c'))])
  expect(exportSet(live, 'default')).toEqual([{ kind: 'key', name: 'a', spec: key('a').spec }])
  expect(exportSet(live, 'absent')).toEqual([])
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
