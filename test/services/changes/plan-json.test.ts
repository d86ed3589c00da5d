import { expect, test } from 'vitest'
import { plan } from '../../../src/services/changes/plan.ts'
import { planToJson } from '../../../src/services/changes/plan-json.ts'
import { key, liveWith, madeBy, ownedBy, publication, tenant, tree } from './trees.ts'

test('as JSON a plan has snake_case names, and every change, warning and count', () => {
  const live = liveWith([ownedBy('default', tenant('t', { models: ['a'] })), madeBy('cli', key('c'))])
  const json = planToJson(plan(live, tree(tenant('t', { models: ['b'] }, 4), publication('m', {}, 6))))
  expect(json).toEqual({
    base: 7,
    set: 'default',
    counts: { create: 1, update: 1, delete: 0, unchanged: 0 },
    changes: [
      expect.objectContaining({ action: 'create', kind: 'publication', name: 'm', file: 'gw.yaml', line: 6 }),
      {
        action: 'update',
        kind: 'tenant',
        name: 't',
        fields: [{ path: 'models', type: 'list', added: ['b'], removed: ['a'] }],
        file: 'gw.yaml',
        line: 4,
      },
    ],
    warnings: [
      {
        code: 'no_endpoint',
        kind: 'publication',
        name: 'm',
        message: 'no enabled endpoint serves it: calls answer 503',
        file: 'gw.yaml',
        line: 6,
      },
    ],
    unmanaged: { other_sets: 0, cli: 1, rest: 0 },
  })
})
