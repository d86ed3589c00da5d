import { describe, expect, test } from 'vitest'
import type { Tree } from '../../../src/config/types.ts'
import { plan } from '../../../src/services/changes/plan.ts'
import { probedModels, probeOrders, resourcesAfter } from '../../../src/services/changes/probe-orders.ts'
import { ProbeError } from '../../../src/services/changes/rejections.ts'
import { binding, endpoint, key, liveWith, ownedBy, publication, tree } from './trees.ts'

/** What is asked when `after` follows on `before`, as `endpoint: models`. */
function asked(before: Tree, after: Tree): Record<string, readonly string[]> {
  const live = liveWith(before.resources.map(resource => ownedBy('default', resource)))
  const made = plan(live, after)
  const orders = probeOrders(made, live.resources, resourcesAfter(made, live.resources, after))
  return Object.fromEntries(orders.map(order => [order.endpoint.name, order.models]))
}

describe('what an apply probes', () => {
  test('is every new endpoint that may be probed', () => {
    const next = tree(
      endpoint('new'),
      endpoint('off', { enabled: false }),
      endpoint('shy', { skip_probe: true }),
      key('k'),
    )
    expect(asked(tree(), next)).toEqual({ new: ['m'] })
  })

  test.each([
    ['base_url', 'http://other.test/v1'],
    ['served_model', 'other'],
    ['protocol', 'anthropic'],
    ['auth', 'x-api-key'],
    ['upstream_key', { env: 'OTHER' }],
    ['headers', { 'x-org': 'two' }],
  ])('is an endpoint of which %s changes', (field, value) => {
    const changed = endpoint('a', { [field]: value })
    expect(Object.keys(asked(tree(endpoint('a'), endpoint('b')), tree(changed, endpoint('b'))))).toEqual([
      'a',
    ])
  })

  test('is an endpoint that comes back, or that may be probed from now on', () => {
    const before = tree(endpoint('a', { enabled: false }), endpoint('b', { skip_probe: true }))
    expect(Object.keys(asked(before, tree(endpoint('a'), endpoint('b'))))).toEqual(['a', 'b'])
  })

  test('is no endpoint of which only a label, a time-out or the name for people changes', () => {
    const changed = endpoint('a', {
      labels: { site: 'x' },
      timeouts: { connect: '1s' },
      display_name: 'A',
      max_concurrency: 3,
    })
    expect(asked(tree(endpoint('a')), tree(changed))).toEqual({})
    expect(asked(tree(endpoint('a')), tree())).toEqual({})
  })

  test('is a model that an endpoint was not asked for before, and that one alone', () => {
    const bound = (...more: ReturnType<typeof binding>[]) =>
      tree(endpoint('a'), publication('p'), publication('q'), publication('r'), ...more)
    const before = bound(binding('p', 'a'), binding('q', 'a', { served_model: 'known' }))
    expect(
      asked(
        before,
        bound(binding('p', 'a', { served_model: 'fresh' }), binding('q', 'a', { served_model: 'known' })),
      ),
    ).toEqual({ a: ['fresh'] })
    expect(asked(before, bound(binding('p', 'a'), binding('r', 'a', { served_model: 'known' })))).toEqual({})
    expect(asked(before, bound(binding('p', 'a', { served_model: 'fresh', weight: 0 })))).toEqual({})
  })
})

test('an endpoint is asked for the models of its bindings, its own first, and for its own where it has none', () => {
  const a = endpoint('a')
  expect(probedModels(a, [a])).toEqual(['m'])
  const overrides = [binding('p', 'a', { served_model: 'x' }), binding('q', 'a', { served_model: 'x' })]
  expect(probedModels(a, [a, ...overrides, binding('p', 'b', { served_model: 'y' })])).toEqual(['x'])
  expect(probedModels(a, [a, ...overrides, binding('r', 'a')])).toEqual(['m', 'x'])
})

test('a failed probe names the endpoint, the model, the cause and the hint', () => {
  const failures = [
    { endpoint: 'a', model: 'm', cause: 'Nothing listens.', hint: 'Start it.' },
    { endpoint: 'b', model: 'n', cause: 'It is full.', hint: 'Wait.' },
  ]
  expect(new ProbeError(failures)).toMatchObject({
    code: 'probe_failed',
    failures,
    message: expect.stringContaining('The endpoint b (n): It is full. Wait.'),
  })
})
