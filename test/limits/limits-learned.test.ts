import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { OutputEstimator, OutputEstimators } from '../../src/limits/output-estimator.ts'
import { holding, keyEntry, MODEL, Scene, used } from './limits-scene.ts'

describe('the learned cap', () => {
  test('starts at 1,024 tokens and follows what was really produced, upward and downward', () => {
    const history = new OutputEstimator()
    expect(history.capTokens).toBe(1_024)
    for (let count = 0; count < 100; count++) history.observe(100)
    expect(history.capTokens).toBe(128)
    for (let count = 0; count < 100; count++) history.observe(5_000)
    expect(history.capTokens).toBe(5_793)
  })

  test('is not moved by a single answer in fifty', () => {
    const history = new OutputEstimator()
    for (let count = 0; count < 100; count++) history.observe(100)
    history.observe(64_000)
    expect(history.capTokens).toBe(128)
  })

  test('is never below the 95th percentile of steady traffic, nor 60 % above it', () => {
    const answers = fc.array(fc.integer({ min: 0, max: 1_000_000 }), { minLength: 20, maxLength: 20 })
    fc.assert(
      fc.property(answers, lengths => {
        const history = new OutputEstimator()
        for (let round = 0; round < 50; round++) for (const length of lengths) history.observe(length)
        const [top = 0, second = 0] = lengths.toSorted((a, b) => b - a)
        expect(history.capTokens).toBeGreaterThanOrEqual(second)
        expect(history.capTokens).toBeLessThanOrEqual(Math.max(top * 1.6, 2))
      }),
      { numRuns: 300 },
    )
  })

  test('keeps its measure over a hundred thousand answers', () => {
    const history = new OutputEstimator()
    for (let count = 0; count < 100_000; count++) history.observe(1_000_000)
    for (let count = 0; count < 200; count++) history.observe(10)
    expect(history.capTokens).toBe(12)
  })

  test('forgets the least recently used key and model when there are too many', () => {
    const histories = new OutputEstimators(2)
    for (let count = 0; count < 50; count++) histories.of('a', 'm').observe(10)
    histories.of('b', 'm')
    histories.of('a', 'm')
    histories.of('c', 'm')
    expect(histories.size).toBe(2)
    expect(histories.of('a', 'm').capTokens).toBe(12)
    for (let count = 0; count < 50; count++) histories.of('b', 'm').observe(10)
    expect(histories.of('c', 'm').capTokens).toBe(1_024)
  })
})

describe('holds', () => {
  test('an agent’s 64,000 tokens do not starve its own key, and it pays for what it used as debt', () => {
    const scene = new Scene()
    const key = keyEntry('k', { limits: { tpm: 20_000 } })
    const agent = holding(1_000, 64_000)
    const reservations = Array.from({ length: 9 }, () => scene.admit(key, agent))
    expect(scene.outcome(key, agent)).toBe('rate_limit_tokens')
    for (const reservation of reservations) reservation.settle(used(1_000, 500), 0n)
    expect(scene.limiter.rateHeaders('openai', key)).toContain(String(20_000 - 9 * 1_500))
  })

  test('cap the output of tokens per minute only: a quota holds it all', () => {
    const scene = new Scene()
    const key = keyEntry('k', { limits: { tpm: 20_000 }, quotaTokens: 65_000 })
    scene.serve([key])
    scene.admit(key, holding(1_000, 64_000))
    expect(scene.limiter.limitStatus(key).quota).toEqual({ limit: 65_000, spent: 0, held: 65_000 })
    expect(scene.outcome(key, holding(1))).toBe('quota_exceeded')
  })

  test('learn of each key and model apart, and nothing from a request that was released or swept', () => {
    const scene = new Scene()
    const [one, other] = ['a', 'b'].map(name => keyEntry(name, { limits: { tpm: 100_000 } })) as [
      never,
      never,
    ]
    const big = { publication: { ...MODEL, name: 'big', account: 'big' } }
    for (let count = 0; count < 60; count++) scene.admit(one, holding(0, 4_096)).settle(used(0, 10), 0n)
    for (let count = 0; count < 60; count++) scene.admit(other, holding(0, 4_096), { holdForMs: 0 }).release()
    for (let count = 0; count < 60; count++) scene.admit(other, holding(0, 4_096), { holdForMs: 0 })
    scene.limiter.sweep()
    scene.clock.advance(60_000)
    const taken = (admitting: () => unknown, key: never) => {
      admitting()
      return 100_000 - Number(scene.limiter.rateHeaders('openai', key)[3])
    }
    expect(taken(() => scene.admit(one, holding(0, 4_096)), one)).toBe(12)
    expect(taken(() => scene.admit(one, holding(0, 4_096), big), one)).toBe(12 + 1_024)
    expect(taken(() => scene.admit(other, holding(0, 4_096)), other)).toBe(1_024)
  })
})
