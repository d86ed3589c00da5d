import { expect, test } from 'vitest'
import type { CanonicalSpec, Kind } from '../../src/schema/kinds.ts'
import { compile } from '../../src/snapshot/compile.ts'
import type { Snapshot } from '../../src/snapshot/types.ts'

/** One key `k` of one tenant `t`, one publication `m`, and the settings, from these fields. */
function compiled(fields: Partial<Record<Kind, CanonicalSpec>>): Snapshot {
  const resource = (kind: Kind, name: string, spec: CanonicalSpec) => ({
    kind,
    name,
    spec: { ...spec, ...fields[kind] },
    createdAtMs: 0,
  })
  const result = compile(
    {
      revision: 1,
      keyVersion: 1,
      resources: [
        resource('settings', 'settings', {}),
        resource('publication', 'm', {}),
        resource('tenant', 't', {}),
        resource('key', 'k', { kind: 'tenant', tenant: 't' }),
      ],
      secrets: [{ key: 'k', digest: 'd' }],
      suspendedKeys: [],
    },
    () => '',
  )
  if (!result.ok) throw new Error(result.problems.join('\n'))
  return result.snapshot
}

test('limits, quota and budget of the configuration reach the key and its tenant in integers', () => {
  const { keys, tenants } = compiled({
    key: {
      limits: { rpm: 10, tpm: { limit: 2_000, burst: 100 } },
      quota: 5_000,
      budget: { amount: '12.5', per: 'month', timezone: 'Asia/Kolkata' },
    },
    tenant: { limits: { concurrency: 3 }, billing: 'prepaid' },
  })
  const key = keys.get('d')!
  expect(key.limits).toEqual({
    rpm: { limit: 10, burst: 10 },
    tpm: { limit: 2_000, burst: 100 },
    concurrency: undefined,
  })
  expect(key.quotaTokens).toBe(5_000)
  expect(key.budget).toEqual({ amountNano: 12_500_000_000n, per: 'month', timezone: 'Asia/Kolkata' })
  expect(key.tenant?.limits).toEqual({ rpm: undefined, tpm: undefined, concurrency: 3 })
  expect(key.tenant?.billing).toBe('prepaid')
  expect(tenants.get('t')).toBe(key.tenant)
})

test('cached input and cache writes cost what input costs, unless they have a price of their own', () => {
  expect(
    compiled({ publication: { price: { input: '3' } } }).publications.get('m')?.prices[0]?.price,
  ).toEqual({
    inputNanoPerMtok: 3_000_000_000n,
    outputNanoPerMtok: 0n,
    cachedInputNanoPerMtok: 3_000_000_000n,
    cacheWriteNanoPerMtok: 3_000_000_000n,
    requestNano: 0n,
    searchUnitNano: 0n,
    secondNano: 0n,
    characterNano: 0n,
    imageNano: 0n,
  })
  const price = {
    input: '3',
    cached_input: '0',
    cache_write: '3.75',
    per_request: '0.01',
    per_search_unit: '0.002',
  }
  expect(compiled({ publication: { price } }).publications.get('m')?.prices[0]?.price).toEqual({
    inputNanoPerMtok: 3_000_000_000n,
    outputNanoPerMtok: 0n,
    cachedInputNanoPerMtok: 0n,
    cacheWriteNanoPerMtok: 3_750_000_000n,
    requestNano: 10_000_000n,
    searchUnitNano: 2_000_000n,
    secondNano: 0n,
    characterNano: 0n,
    imageNano: 0n,
  })
})

test('without a price there is none, rather than one of zeros', () => {
  const publication = compiled({ publication: { max_output_tokens: 77 } }).publications.get('m')
  expect(publication?.prices).toEqual([])
  expect(publication?.maxOutputTokens).toBe(77)
})

test('settings that metering needs are in the snapshot', () => {
  const settings = {
    currency: 'EUR',
    log: { retention: '2d', embeddings: true },
    responses: { retention: '4d' },
    revisions: { retention: '3d', keep: 200 },
  }
  expect(compiled({ settings })).toMatchObject({
    currency: 'EUR',
    logEmbeddings: true,
    logRetentionMs: 172_800_000,
    responseRetentionMs: 345_600_000,
    revisions: { retentionMs: 259_200_000, keep: 200 },
  })
})

test('what becomes of a call that is left or broken off is a setting, and a publication may say otherwise', () => {
  const settings = { on_disconnect: 'drain', on_upstream_error: 'free' }
  const entryOf = (more: object) => compiled(more).publications.get('m')
  expect(entryOf({})).toMatchObject({ onDisconnect: 'abort', onUpstreamError: 'charge' })
  expect(entryOf({ settings })).toMatchObject({ onDisconnect: 'drain', onUpstreamError: 'free' })
  const publication = { on_disconnect: 'abort', on_upstream_error: 'charge' }
  expect(entryOf({ settings, publication })).toMatchObject({
    onDisconnect: 'abort',
    onUpstreamError: 'charge',
  })
})
