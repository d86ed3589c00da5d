import { expect, test } from 'vitest'
import type { Resource } from '../../../../src/schema/kinds.ts'
import { moveText } from '../../../../src/services/changes/blast/prices.ts'
import { blastRadius } from '../../../../src/services/changes/blast/radius.ts'
import { NEVER_USED } from '../../../../src/services/changes/blast/use.ts'
import { verdict } from '../../../../src/services/changes/blast/verdict.ts'
import type { Rename, StoredSecret } from '../../../../src/store/types.ts'
import { inMemory } from '../../../store/ledger/in-memory.ts'
import { call, hold, NOON_MS, settle } from '../../../store/ledger/rows.ts'
import { binding, endpoint, key, liveWith, node, ownedBy, publication, settings, tenant } from '../trees.ts'

const HOUR_MS = 3_600_000

/** A ledger in which key `app` of tenant `acme` has called `gpt` on `east`, so often and so long ago. */
function used(
  ...calls: readonly { readonly agoMs: number; readonly count?: number; readonly key?: string }[]
) {
  const { book, accounting } = inMemory(() => NOON_MS)
  for (const [at, { agoMs, count = 1, key: name = 'app' }] of calls.entries()) {
    for (let call = 0; call < count; call++) {
      const id = `r${at}-${call}`
      book.write([
        ['hold', hold(id, { key: name })],
        ['end', settle(id, { key: name, endedAtMs: NOON_MS - agoMs })],
      ])
    }
  }
  return {
    use: accounting.use.bind(accounting),
    lastUse: accounting.lastUse.bind(accounting),
    peaks: accounting.peaks.bind(accounting),
    keySums: accounting.keySums.bind(accounting),
    budgetStartMs: () => NOON_MS - 12 * HOUR_MS,
    nodeUse: accounting.nodeUse.bind(accounting),
    nodes: async () => [],
  }
}

const radius = (before: Resource[], after: Resource[], use = NEVER_USED, renames: Rename[] = []) =>
  blastRadius(
    liveWith(
      before.map(resource => ownedBy('default', { ...resource, place: { file: 'f', line: 1, column: 1 } })),
      { atMs: NOON_MS, secrets: secretsOf(before) },
    ),
    after,
    renames,
    use,
  )

/** One valid secret for each key but `unissued`. */
function secretsOf(resources: readonly Resource[]): StoredSecret[] {
  return resources
    .filter(({ kind, name }) => kind === 'key' && name !== 'unissued')
    .map(({ name }, id) => ({ id, key: name, createdAtMs: NOON_MS - 48 * HOUR_MS }))
}

const served = [endpoint('east'), publication('gpt'), binding('gpt', 'east')]

test('what goes away is shown with its traffic of the last day and its last use', async () => {
  const before = [...served, endpoint('west'), tenant('acme'), key('app', { kind: 'tenant', tenant: 'acme' })]
  const { endings } = await radius(before, [], used({ agoMs: HOUR_MS, count: 2 }, { agoMs: 30 * HOUR_MS }))
  const day = { requests: 2, tokens: 800, amountNano: 800n }
  const lastUsedAtMs = NOON_MS - HOUR_MS
  expect(endings).toEqual([
    { kind: 'endpoint', name: 'east', how: 'deleted', day, lastUsedAtMs },
    { kind: 'endpoint', name: 'west', how: 'deleted', day: { requests: 0, tokens: 0, amountNano: 0n } },
    { kind: 'publication', name: 'gpt', how: 'deleted', day, lastUsedAtMs },
    { kind: 'tenant', name: 'acme', how: 'deleted', day, lastUsedAtMs },
    { kind: 'key', name: 'app', how: 'deleted', day, lastUsedAtMs },
  ])
})

test('a last use of days ago is shown, one of more than 30 days ago is not', async () => {
  const lastUse = async (days: number) =>
    (await radius(served, [], used({ agoMs: days * 24 * HOUR_MS }))).endings[0]?.lastUsedAtMs
  expect(await lastUse(20)).toBe(NOON_MS - 20 * 24 * HOUR_MS)
  expect(await lastUse(31)).toBeUndefined()
})

test('what is switched off goes away as well, and what was off before does not', async () => {
  const before = [
    endpoint('east'),
    endpoint('off', { enabled: false }),
    publication('gpt'),
    publication('draft', { status: 'draft' }),
    binding('gpt', 'east'),
    tenant('acme'),
    key('app'),
  ]
  const after = [
    endpoint('east', { enabled: false }),
    publication('gpt', { status: 'unlisted' }),
    binding('gpt', 'east', { weight: 0 }),
    tenant('acme', { status: 'disabled' }),
    key('app', { enabled: false }),
  ]
  const { endings } = await radius(before, after)
  expect(endings.map(({ kind, how }) => `${kind} ${how}`)).toEqual([
    'endpoint disabled',
    'publication disabled',
    'tenant disabled',
    'key disabled',
  ])
})

test('a binding that goes alone is shown with the traffic of its publication on its endpoint', async () => {
  const before = [...served, endpoint('west'), binding('gpt', 'west')]
  const { endings } = await radius(before, [...served, endpoint('west')], used({ agoMs: HOUR_MS }))
  expect(endings).toMatchObject([{ kind: 'binding', name: 'gpt west', day: { requests: 0 } }])
  const other = await radius(
    before,
    before.filter(({ name }) => name !== 'gpt east'),
    used({ agoMs: HOUR_MS }),
  )
  expect(other.endings).toMatchObject([{ name: 'gpt east', day: { requests: 1, tokens: 400 } }])
})

test('a publication that loses its last usable endpoint is named, one that never had any is not', async () => {
  const before = [...served, publication('bare')]
  const after = [endpoint('east', { enabled: false }), ...before.slice(1)]
  expect((await radius(before, after)).unserved).toEqual(['gpt'])
})

test('paths that a publication loses are shown, if it keeps an endpoint', async () => {
  const responses = { paths: ['/v1/chat/completions', '/v1/responses'] }
  const withPaths = (more: object) => [endpoint('east', more), ...served.slice(1)]
  const lost = async (before: Resource[], after: Resource[]) => (await radius(before, after)).paths
  const gpt = (...loses: string[]) => [{ publication: 'gpt', loses }]
  const chat = { paths: ['/v1/chat/completions'] }
  expect(await lost(withPaths(responses), withPaths(chat))).toEqual(gpt('/v1/responses'))
  expect((await lost(served, withPaths(chat)))[0]?.loses).toContain('/v1/audio/speech')
  expect(await lost(withPaths(chat), withPaths(responses))).toEqual([])
  // Another endpoint that serves all paths.
  const west = [endpoint('west'), binding('gpt', 'west')]
  expect(await lost([...served, ...west], [...withPaths(chat), ...west])).toEqual([])
  expect(await lost([...withPaths(chat), ...west], withPaths(chat))).toHaveLength(1)
  // Without any endpoint it is not served at all.
  const off = [endpoint('east', { enabled: false }), ...served.slice(1)]
  expect(await lost(served, off)).toEqual([])
})

test('a price of each unit that moves is shown', async () => {
  const before = [publication('voice', { price: { per_second: '0.0001', per_character: '0.01' } })]
  const after = [publication('voice', { price: { per_second: '0.0002', per_image: '0.04' } })]
  const { prices } = await radius(before, after)
  expect(prices.map(moveText)).toEqual([
    'per_second 0.0001 → 0.0002 (+100 %)',
    'per_character 0.01 → 0 (-100 %)',
    'per_image 0 → 0.04',
  ])
})

test('a price that moves is shown by its parts, in percent; what follows another part is not repeated', async () => {
  const before = [publication('gpt', { price: { input: '2', output: '10', per_request: '0.01' } })]
  const after = [publication('gpt', { price: { input: '2.5', output: '10', cached_input: '0' } })]
  const { prices } = await radius(before, after)
  expect(prices.map(({ part, percent }) => [part, percent])).toEqual([
    ['input', 25],
    ['cached_input', -100],
    ['per_request', -100],
  ])
  const first = await radius([publication('gpt', { price: undefined })], after)
  expect(first.prices[0]).toEqual({ publication: 'gpt', part: 'input', afterNano: 2_500_000_000n })
})

test('of prices with dates the one in force counts', async () => {
  const dated = (from: string) => [publication('gpt', { price: [{ input: '1' }, { from, input: '2' }] })]
  expect((await radius(dated('2027-01-01'), dated('2028-01-01'))).prices).toEqual([])
  expect((await radius(dated('2027-01-01'), dated('2025-01-01'))).prices).toMatchObject([{ percent: 100 }])
})

test('a rate below the busiest quarter of an hour of the last day is shown, one that has room is not', async () => {
  const use = used({ agoMs: HOUR_MS, count: 30 })
  const rpm = (limit: number | undefined) => [
    key('app', { limits: limit === undefined ? {} : { rpm: limit } }),
  ]
  expect((await radius(rpm(60), rpm(1), use)).limits).toEqual([
    { kind: 'key', name: 'app', limit: 'rpm', before: 60n, after: 1n, used: 2n },
  ])
  expect((await radius(rpm(undefined), rpm(1), use)).limits).toHaveLength(1)
  expect((await radius(rpm(60), rpm(2), use)).limits).toEqual([])
  expect((await radius(rpm(1), rpm(2), use)).limits).toEqual([])
  const tenants = [
    tenant('acme', { limits: { tpm: 1000 } }),
    tenant('acme', { limits: { tpm: 100 } }),
  ] as const
  expect((await radius([tenants[0]], [tenants[1]], use)).limits).toMatchObject([{ limit: 'tpm', used: 800n }])
})

test('a limit in shadow mode rejects nothing, and enforcing one that recent use exceeds is shown', async () => {
  const use = used({ agoMs: HOUR_MS, count: 30 })
  const of = (mode: string) => [
    key('app', {
      limits: { rpm: { limit: 1, mode } },
      quota: { tokens: 100, mode },
      budget: { amount: '0.0000001', per: 'total', mode },
    }),
    tenant('acme', { limits: { tpm: { limit: 100, mode } } }),
  ]
  const without = [key('app'), tenant('acme', {})]
  expect((await radius(without, of('shadow'), use)).limits).toEqual([])
  expect((await radius(of('enforce'), of('shadow'), use)).limits).toEqual([])
  const enforced = await radius(of('shadow'), of('enforce'), use)
  expect(enforced.limits.map(({ name, limit }) => `${name} ${limit}`)).toEqual([
    'acme tpm',
    'app rpm',
    'app quota',
    'app budget',
  ])
  for (const limit of enforced.limits) expect(limit).not.toHaveProperty('before')
})

test('a quota or a budget that is spent already is shown', async () => {
  const use = used({ agoMs: HOUR_MS, count: 3 }, { agoMs: 48 * HOUR_MS })
  const quota = (tokens: number) => [key('app', { quota: tokens })]
  expect((await radius(quota(5000), quota(1600), use)).limits).toMatchObject([
    { limit: 'quota', used: 1600n },
  ])
  expect((await radius(quota(5000), quota(1601), use)).limits).toEqual([])
  const budget = (amount: string, per: string) => [key('app', { budget: { amount, per } })]
  const spent = await radius(budget('1', 'day'), budget('0.0000012', 'day'), use)
  expect(spent.limits).toMatchObject([{ limit: 'budget', before: 10n ** 9n, after: 1_200n, used: 1_200n }])
  const total = await radius(budget('1', 'day'), budget('0.0000014', 'total'), use)
  expect(total.limits, 'another window is another budget').toMatchObject([{ limit: 'budget', used: 1_600n }])
  expect(total.limits[0]).not.toHaveProperty('before')
})

test('only a key with a valid secret can break', async () => {
  const before = [...served, key('app'), key('unissued'), key('hashed', { hash: `sha256:${'1'.repeat(64)}` })]
  expect((await radius(before, served)).brokenKeys).toBe(2)
  const without = [...served, key('app'), key('unissued', { models: ['other'] })]
  const { brokenKeys, access } = await radius([...served, key('app'), key('unissued')], without)
  expect({ brokenKeys, access }).toMatchObject({ brokenKeys: 0, access: [{ keys: ['unissued'] }] })
})

test('in a store that has issued no secret, as in a pull request, all keys count and use is unknown', async () => {
  const counts = { create: 0, update: 1, delete: 0, unchanged: 0 }
  const before = [...served, key('unissued')]
  const lost = await radius(before, [...served, key('unissued', { models: ['other'] })])
  expect(verdict({ counts }, lost)).toBe('0 to create, 1 to update, 0 to delete; breaks 1 key')
  expect(verdict({ counts }, await radius(before, before))).toBe(
    '0 to create, 1 to update, 0 to delete; breaks no key',
  )
})

test('the verdict counts what matters, and says where nothing does', async () => {
  const counts = { create: 0, update: 1, delete: 3, unchanged: 0 }
  const none = await radius([...served, key('app')], [...served, key('app')])
  expect(verdict({ counts }, none)).toBe(
    '0 to create, 1 to update, 3 to delete; breaks no key; nothing in use goes away',
  )
  const all = await radius([...served, key('app')], [key('app')], used({ agoMs: HOUR_MS }))
  expect(verdict({ counts }, all)).toBe(
    '0 to create, 1 to update, 3 to delete; breaks 1 key; 2 in use go away',
  )
  expect(verdict({ counts: { ...counts, update: 0, delete: 0 } }, none)).toBe(
    '0 to create, 0 to update, 0 to delete',
  )
})

/** Nodes that have joined, connected or not, and calls of `qwen` on them. */
function onNodes(
  joined: Readonly<Record<string, boolean>>,
  calls: readonly { readonly node: string; readonly agoMs: number; readonly endpoint?: string }[] = [],
) {
  const { book, accounting } = inMemory(() => NOON_MS)
  book.write(
    calls.map(({ node, agoMs, endpoint = 'qwen' }, at) => [
      'log',
      call(`r${at}`, { node, endpoint, atMs: NOON_MS - agoMs }),
    ]),
  )
  const connection = { node: '', address: '', version: '', connectedAtMs: 0, engines: [] }
  return {
    ...used(),
    nodeUse: accounting.nodeUse.bind(accounting),
    nodes: async () =>
      Object.entries(joined).map(([node, isConnected]) => ({
        node,
        labels: { pool: 'b' },
        joinedAtMs: 0,
        ...(isConnected && { connection: { ...connection, node } }),
      })),
  }
}

const qwen = (nodes: object) => endpoint('qwen', { base_url: undefined, nodes: { engine: 'vllm', ...nodes } })
const pool = (...names: string[]) => names.map(name => node(name, { labels: { pool: 'a' } }))

test('an endpoint on nodes is shown with those that it loses and their calls of the last day', async () => {
  const before = [qwen({ labels: { pool: 'a' } }), ...pool('gpu-1', 'gpu-7', 'gpu-8')]
  const after = [
    qwen({ labels: { pool: 'a' } }),
    ...pool('gpu-1'),
    node('gpu-7'),
    node('gpu-8', { labels: { pool: 'a' }, engines: ['tgi'] }),
  ]
  const use = onNodes({ 'gpu-1': true, 'gpu-7': true, 'gpu-8': false }, [
    { node: 'gpu-7', agoMs: HOUR_MS },
    { node: 'gpu-7', agoMs: 2 * HOUR_MS },
    { node: 'gpu-7', agoMs: 25 * HOUR_MS },
    { node: 'gpu-7', agoMs: HOUR_MS, endpoint: 'other' },
    { node: 'gpu-1', agoMs: HOUR_MS },
  ])
  const found = await radius(before, after, use)
  expect(found.nodes).toEqual([
    {
      endpoint: 'qwen',
      matches: ['gpu-1'],
      gains: [],
      loses: [
        { node: 'gpu-7', requests: 2 },
        { node: 'gpu-8', requests: 0 },
      ],
    },
  ])
  const counts = { create: 0, update: 2, delete: 0, unchanged: 0 }
  expect(verdict({ counts }, found)).toBe(
    '0 to create, 2 to update, 0 to delete; breaks no key; takes nodes in use from 1 endpoint',
  )
})

test('a new endpoint on nodes is shown with those that are connected, and one whose nodes stay is not', async () => {
  const nodes = pool('gpu-1', 'gpu-2', 'gpu-3')
  const use = onNodes({ 'gpu-1': true, 'gpu-2': true, 'gpu-3': false })
  const named = qwen({ names: ['gpu-2', 'gpu-3'] })
  expect((await radius(nodes, [...nodes, named], use)).nodes).toEqual([
    { endpoint: 'qwen', matches: ['gpu-2'], gains: [], loses: [] },
  ])
  expect((await radius([...nodes, named], [...nodes, named, key('app')], use)).nodes).toEqual([])
  const all = qwen({ labels: { pool: 'a' } })
  expect((await radius([...nodes, named], [...nodes, all], use)).nodes).toEqual([
    { endpoint: 'qwen', matches: ['gpu-1', 'gpu-2'], gains: ['gpu-1'], loses: [] },
  ])
})

test('nodes that no file declares match by the labels of their tokens, if the settings admit them', async () => {
  const use = onNodes({ 'gpu-9': true })
  const declared = [qwen({ labels: { pool: 'b' } })]
  const token = [...declared, settings({ nodes: { admission: 'token' } })]
  expect((await radius(declared, token, use)).nodes).toEqual([
    { endpoint: 'qwen', matches: ['gpu-9'], gains: ['gpu-9'], loses: [] },
  ])
  expect((await radius(token, declared, use)).nodes).toMatchObject([
    { matches: [], loses: [{ node: 'gpu-9' }] },
  ])
})

test('what is renamed is known by its use under the name of before', async () => {
  const use = used({ agoMs: HOUR_MS, count: 3 })
  const before = [...served, tenant('acme'), key('app', { kind: 'tenant', tenant: 'acme' })]
  const after = [
    endpoint('west', { enabled: false }),
    publication('gpt-5', { price: { input: '100' } }),
    binding('gpt-5', 'west'),
    tenant('acme'),
    key('application', { kind: 'tenant', tenant: 'acme', quota: 3 }),
  ]
  const found = await radius(before, after, use, [
    { kind: 'endpoint', from: 'east', to: 'west' },
    { kind: 'publication', from: 'gpt', to: 'gpt-5' },
    { kind: 'key', from: 'app', to: 'application' },
  ])
  expect(found.endings).toContainEqual(
    expect.objectContaining({
      kind: 'endpoint',
      name: 'west',
      how: 'disabled',
      day: expect.objectContaining({ requests: 3 }),
    }),
  )
  expect(found.limits).toMatchObject([{ kind: 'key', name: 'application', limit: 'quota' }])
  expect(found.prices).toMatchObject([{ publication: 'gpt-5', part: 'input' }])
})

test('a tenant that becomes prepaid without a balance is shown with its spend of the last day', async () => {
  const use = used({ agoMs: HOUR_MS, count: 2 })
  const [before, after] = [tenant('acme'), tenant('acme', { billing: 'prepaid' })]
  expect((await radius([before], [after], use)).limits).toEqual([
    { kind: 'tenant', name: 'acme', limit: 'balance', after: 0n, used: 800n },
  ])
  expect((await radius([before], [after])).limits).toEqual([])
  expect(
    (await radius([after], [tenant('acme', { billing: 'prepaid', display_name: 'A' })], use)).limits,
  ).toEqual([])
  const live = liveWith([ownedBy('default', before)], {
    atMs: NOON_MS,
    balances: [{ tenant: 'acme', balanceNano: 1n }],
  })
  expect((await blastRadius(live, [after], [], use)).limits).toEqual([])
})
