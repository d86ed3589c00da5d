import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { GwError } from '../../src/base/catalogue/wire.ts'
import { errorBody } from '../../src/gateway/error-response.ts'
import { goDuration } from '../../src/limits/rate-headers.ts'
import { holding, keyEntry, Scene, tenantEntry } from './limits-scene.ts'

/** Header names and values in turn, as an object. */
function asObject(lines: readonly string[]): Record<string, string> {
  expect(lines.length % 2).toBe(0)
  return Object.fromEntries(
    lines.flatMap((name, index) => (index % 2 ? [] : [[name, String(lines[index + 1])]])),
  )
}

describe('rate headers', () => {
  const key = keyEntry('k', { limits: { rpm: 60, tpm: 6_000 } })

  test('speak OpenAI’s words, with Go durations', () => {
    const scene = new Scene()
    scene.admit(key, holding(4_500))
    scene.clock.advance(500)
    expect(asObject(scene.limiter.rateHeaders('openai', key))).toEqual({
      'x-ratelimit-limit-requests': '60',
      'x-ratelimit-remaining-requests': '59',
      'x-ratelimit-reset-requests': '500ms',
      'x-ratelimit-limit-tokens': '6000',
      'x-ratelimit-remaining-tokens': '1550',
      'x-ratelimit-reset-tokens': '44.5s',
    })
  })

  test('speak Anthropic’s words, with RFC 3339 in UTC, rounded up to the second', () => {
    const scene = new Scene()
    scene.admit(key, holding(4_500))
    scene.clock.advance(400)
    expect(asObject(scene.limiter.rateHeaders('anthropic', key))).toEqual({
      'anthropic-ratelimit-requests-limit': '60',
      'anthropic-ratelimit-requests-remaining': '59',
      'anthropic-ratelimit-requests-reset': '2026-01-15T12:00:01Z',
      'anthropic-ratelimit-tokens-limit': '6000',
      'anthropic-ratelimit-tokens-remaining': '1540',
      'anthropic-ratelimit-tokens-reset': '2026-01-15T12:00:45Z',
    })
  })

  test('show nothing of what has no limit', () => {
    const scene = new Scene()
    expect(scene.limiter.rateHeaders('openai', keyEntry('k', { limits: { concurrency: 1 } }))).toEqual([])
    expect(scene.limiter.rateHeaders('openai', keyEntry('k', { limits: { rpm: 1 } }))).toHaveLength(6)
    expect(scene.limiter.rateHeaders('anthropic', keyEntry('k', { limits: { tpm: 1 } }))[0]).toContain(
      'tokens',
    )
    const tenant = tenantEntry('t', { limits: { tpm: 7 } })
    expect(scene.limiter.rateHeaders('openai', keyEntry('k', { tenant }))[1]).toBe('7')
  })

  test('show the tightest of key and tenant, unit by unit', () => {
    const scene = new Scene()
    const tenant = tenantEntry('t', { limits: { rpm: 3, tpm: 100_000 } })
    const [one, other] = ['a', 'b'].map(name =>
      keyEntry(name, { limits: { rpm: 2, tpm: 1_000 }, tenant }),
    ) as [typeof key, typeof key]
    const shown = (entry: typeof key) => scene.limiter.rateHeaders('openai', entry)
    scene.admit(other)
    expect(asObject(shown(one))).toMatchObject({ 'x-ratelimit-remaining-requests': '2' })
    scene.admit(other)
    expect(asObject(shown(one))).toMatchObject({
      'x-ratelimit-limit-requests': '3',
      'x-ratelimit-remaining-requests': '1',
      'x-ratelimit-limit-tokens': '1000',
    })
  })

  test('show of two that leave the same the one that takes longer', () => {
    const scene = new Scene()
    const tenant = tenantEntry('t', { limits: { rpm: 3 } })
    const key = keyEntry('k', { limits: { rpm: 2 }, tenant })
    scene.admit(key)
    scene.admit(keyEntry('other', { tenant }))
    // One left of two, full again in 30 s; one left of three, in 40 s.
    expect(scene.limiter.rateHeaders('openai', key)).toEqual(
      expect.arrayContaining(['x-ratelimit-limit-requests', '3', '40s']),
    )
  })

  test('show a debt as nothing left and the time that it takes', () => {
    const scene = new Scene()
    scene.admit(key, holding(12_000))
    expect(asObject(scene.limiter.rateHeaders('openai', key))).toMatchObject({
      'x-ratelimit-remaining-tokens': '0',
      'x-ratelimit-reset-tokens': '2m0s',
    })
  })

  test('of count_tokens show its own bucket, and no tokens', () => {
    const scene = new Scene()
    scene.limiter.countTokens(key)
    expect(asObject(scene.limiter.rateHeaders('anthropic', key, 'count'))).toEqual({
      'anthropic-ratelimit-requests-limit': '60',
      'anthropic-ratelimit-requests-remaining': '59',
      'anthropic-ratelimit-requests-reset': '2026-01-15T12:00:01Z',
    })
    expect(asObject(scene.limiter.rateHeaders('openai', key))).toMatchObject({
      'x-ratelimit-remaining-requests': '60',
    })
  })

  test('asking for them takes nothing', () => {
    const scene = new Scene()
    for (let count = 0; count < 100; count++) scene.limiter.rateHeaders('openai', key)
    expect(scene.limiter.rateHeaders('openai', key)[3]).toBe('60')
  })
})

describe('Go durations', () => {
  test.each([
    [0, '0s'],
    [20, '20ms'],
    [1_000, '1s'],
    [1_500, '1.5s'],
    [60_000, '1m0s'],
    [90_050, '1m30.05s'],
    [360_000, '6m0s'],
    [3_600_000, '1h0m0s'],
    [90_061_001, '25h1m1.001s'],
  ])('%i ms is %s', (ms, text) => {
    expect(goDuration(ms)).toBe(text)
  })

  test('say exactly the milliseconds that they were made from', () => {
    const units = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 }
    fc.assert(
      fc.property(fc.nat(1_000_000_000), ms => {
        let totalMs = 0
        for (const [, value, unit] of goDuration(ms).matchAll(/([\d.]+)(ms|h|m|s)/g))
          totalMs += Number(value) * units[unit as keyof typeof units]
        expect(Math.round(totalMs)).toBe(ms)
      }),
    )
  })
})

describe('on the wire', () => {
  test.each([
    ['rate_limit_requests', 'requests'],
    ['rate_limit_tokens', 'tokens'],
    ['rate_limit_concurrency', 'concurrency'],
  ] as const)('%s is rate_limit_exceeded of type %s to OpenAI’s clients', (code, type) => {
    const { error } = JSON.parse(
      errorBody(new GwError(code), { protocol: 'openai', requestId: 'req_1', showsEndpoints: true }),
    )
    expect(error).toMatchObject({ type, code: 'rate_limit_exceeded' })
    expect(
      JSON.parse(
        errorBody(new GwError(code), { protocol: 'anthropic', requestId: 'req_1', showsEndpoints: true }),
      ).error.type,
    ).toBe('rate_limit_error')
  })
})
