import { expect, test } from 'vitest'
import { plan } from '../../../src/services/changes/plan.ts'
import { emptyLive } from './empty-live.ts'
import { binding, endpoint, key, liveWith, ownedBy, publication, settings, tenant, tree } from './trees.ts'

const codes = (made: ReturnType<typeof plan>) => made.warnings.map(({ code, name }) => `${code} ${name}`)
const served = (name: string) => [endpoint(`${name}-ep`), publication(name), binding(name, `${name}-ep`)]

test('a listed publication without a price, and no other', () => {
  const bound = ['free', 'empty', 'priced', 'draft'].map(name => binding(name, 'a'))
  const made = plan(
    emptyLive(0),
    tree(
      endpoint('a'),
      publication('free', { price: undefined }),
      publication('empty', { price: {} }),
      publication('priced', { price: { output: 0 } }),
      publication('draft', { price: undefined, status: 'draft' }),
      ...bound,
    ),
  )
  expect(codes(made)).toEqual(['unpriced empty', 'unpriced free'])
})

test('a listed publication that no enabled endpoint serves', () => {
  const made = plan(
    emptyLive(0),
    tree(
      endpoint('on'),
      endpoint('off', { enabled: false }),
      ...['good', 'bare', 'down', 'weightless', 'draft'].map(name =>
        publication(name, name === 'draft' ? { status: 'draft' } : {}),
      ),
      binding('good', 'off'),
      binding('good', 'on'),
      binding('down', 'off'),
      binding('weightless', 'on', { weight: 0 }),
    ),
  )
  expect(codes(made)).toEqual(['no_endpoint bare', 'no_endpoint down', 'no_endpoint weightless'])
})

test('another set’s publication only where this apply takes its last endpoint', () => {
  const others = [publication('m'), binding('m', 'a'), publication('bare')].map(r => ownedBy('team-b', r))
  const live = liveWith([ownedBy('default', endpoint('a')), ...others])
  expect(codes(plan(live, tree(endpoint('a'))))).toEqual([])
  expect(codes(plan(live, tree(endpoint('a', { enabled: false }))))).toEqual(['no_endpoint m'])
})

test('another currency, where amounts were booked in the one before', () => {
  const euro = settings({ currency: 'EUR' })
  const dollars = liveWith([ownedBy('default', settings({}))])
  expect(codes(plan(dollars, tree(euro)))).toEqual(['currency_changed settings'])
  expect(plan(dollars, tree(euro)).warnings[0]?.message).toContain('USD until now, are shown as EUR')
  expect(codes(plan(dollars, tree(settings({}))))).toEqual([])
  expect(codes(plan(emptyLive(0), tree(euro)))).toEqual([])
})

test('maintenance that begins, and prices that are required of every set from now on', () => {
  const others = [publication('free', { price: undefined }), endpoint('a'), binding('free', 'a')]
  const live = liveWith(others.map(each => ownedBy('team-b', each)))
  const made = plan(live, tree(settings({ maintenance: { enabled: true }, require_price: true })))
  expect(codes(made)).toEqual(['unpriced free', 'maintenance settings'])
  const later = publication('m', { price: [{ from: '2999-01-01', input: '1' }] })
  const [dated] = plan(emptyLive(0), tree(settings({ require_price: true }), later)).warnings
  expect(dated?.message).toContain('its calls are rejected')
})

test('an enabled key without any secret that opens', () => {
  const secrets = [
    { id: 1, key: 'issued', createdAtMs: 1 },
    { id: 2, key: 'revoked', createdAtMs: 1, revokedAtMs: 2 },
    { id: 3, key: 'over', createdAtMs: 1, expiresAtMs: 5_000 },
    { id: 4, key: 'grace', createdAtMs: 1, expiresAtMs: 5_001 },
  ]
  const made = plan(
    liveWith([], { secrets }),
    tree(
      ...['issued', 'revoked', 'over', 'grace', 'bare'].map(name => key(name)),
      key('off', { enabled: false }),
      key('hashed', { hash: `sha256:${'a'.repeat(64)}` }),
      key('brought', { secret: { env: 'X' } }),
    ),
  )
  expect(codes(made)).toEqual(['no_secret bare', 'no_secret over', 'no_secret revoked'])
  expect(made.warnings[0]?.message).toContain('gw keys issue bare')
})

test('nothing where all is well', () => {
  expect(plan(emptyLive(0), tree(...served('m'))).warnings).toEqual([])
})

test('only what the change brings, each with its line: what stood before is not said again', () => {
  const standing = [
    ...Array.from({ length: 23 }, (_, at) => key(`key-${at}`)),
    ...served('m'),
    endpoint('off', { enabled: false }),
    publication('down', { price: undefined }),
    binding('down', 'off'),
  ]
  const live = liveWith(standing.map(resource => ownedBy('default', resource)))
  expect(plan(live, tree(...standing)).warnings).toEqual([])
  const changed = [
    ...standing.filter(({ name }) => name !== 'm-ep' && name !== 'm m-ep'),
    key('fresh', {}, 77),
    endpoint('m-ep', { enabled: false }),
    binding('m', 'm-ep'),
  ]
  expect(plan(live, tree(...changed)).warnings).toEqual([
    expect.objectContaining({
      code: 'no_endpoint',
      name: 'm',
      place: { file: 'gw.yaml', line: expect.any(Number) },
    }),
    expect.objectContaining({ code: 'no_secret', name: 'fresh', place: { file: 'gw.yaml', line: 77 } }),
  ])
})

test('a resource with the fields of one that is deleted may be meant as a rename', () => {
  const live = liveWith(
    [tenant('acme'), key('app', { limits: { rpm: 5 } }), key('old', { limits: { rpm: 7 } })].map(resource =>
      ownedBy('default', resource),
    ),
  )
  const renamed = tree(
    tenant('acme-corp', { display_name: 'Acme' }),
    key('web', { limits: { rpm: 5 } }, 4),
    key('new', { limits: { rpm: 8 } }),
  )
  const { warnings } = plan(live, renamed)
  expect(warnings.filter(({ code }) => code === 'possible_rename')).toEqual([
    expect.objectContaining({ kind: 'tenant', name: 'acme-corp' }),
    {
      code: 'possible_rename',
      kind: 'key',
      name: 'web',
      message: 'it has the fields of app, which is deleted; if this is a rename, add `previous_name: app`',
      place: { file: 'gw.yaml', line: 4 },
    },
  ])
})

test('no rename is supposed where several fit, where nothing is deleted, or where one is requested', () => {
  const own = (...names: string[]) => liveWith(names.map(name => ownedBy('default', tenant(name))))
  const renames = (made: ReturnType<typeof plan>) =>
    made.warnings.filter(each => each.code === 'possible_rename')
  expect(renames(plan(own('a', 'b'), tree(tenant('c'))))).toEqual([])
  expect(renames(plan(own('a'), tree(tenant('c'), tenant('d'))))).toEqual([])
  expect(renames(plan(own('a'), tree(tenant('a'), tenant('c'))))).toEqual([])
  expect(renames(plan(own('a'), tree({ ...tenant('c'), previousName: 'a' })))).toEqual([])
})
