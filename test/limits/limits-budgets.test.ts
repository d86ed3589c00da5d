import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Calendar } from '../../src/limits/calendar.ts'
import { testClock } from '../support/test-clock.ts'
import { holding, keyEntry, Scene, used } from './limits-scene.ts'

const HOUR_MS = 3_600_000
const utc = (iso: string) => Date.parse(iso)

function spanOf(per: 'day' | 'month', zone: string, at: string): [string, string] {
  const { startMs, endMs } = new Calendar().span(per, zone, utc(at))
  return [new Date(startMs).toISOString(), new Date(endMs).toISOString()]
}

describe('windows', () => {
  test.each([
    ['day', 'UTC', '2026-02-28T23:59:59.999Z', '2026-02-28T00:00:00.000Z', '2026-03-01T00:00:00.000Z'],
    ['day', 'Asia/Kolkata', '2026-01-15T18:29:59Z', '2026-01-14T18:30:00.000Z', '2026-01-15T18:30:00.000Z'],
    ['day', 'Asia/Kolkata', '2026-01-15T18:30:00Z', '2026-01-15T18:30:00.000Z', '2026-01-16T18:30:00.000Z'],
    ['day', 'Asia/Kathmandu', '2026-01-15T12:00:00Z', '2026-01-14T18:15:00.000Z', '2026-01-15T18:15:00.000Z'],
    // 23 hours and 25: daylight saving begins and ends.
    ['day', 'Europe/Berlin', '2026-03-29T12:00:00Z', '2026-03-28T23:00:00.000Z', '2026-03-29T22:00:00.000Z'],
    ['day', 'Europe/Berlin', '2026-10-25T12:00:00Z', '2026-10-24T22:00:00.000Z', '2026-10-25T23:00:00.000Z'],
    // Midnight does not exist (2026-09-06 begins at 01:00), and comes twice (2026-04-05 begins after the second 23:00).
    [
      'day',
      'America/Santiago',
      '2026-09-06T12:00:00Z',
      '2026-09-06T04:00:00.000Z',
      '2026-09-07T03:00:00.000Z',
    ],
    [
      'day',
      'America/Santiago',
      '2026-04-05T03:30:00Z',
      '2026-04-04T03:00:00.000Z',
      '2026-04-05T04:00:00.000Z',
    ],
    [
      'day',
      'Pacific/Kiritimati',
      '2026-01-01T09:59:00Z',
      '2025-12-31T10:00:00.000Z',
      '2026-01-01T10:00:00.000Z',
    ],
    [
      'day',
      'Pacific/Pago_Pago',
      '2026-01-01T10:59:00Z',
      '2025-12-31T11:00:00.000Z',
      '2026-01-01T11:00:00.000Z',
    ],
    ['month', 'UTC', '2028-02-29T12:00:00Z', '2028-02-01T00:00:00.000Z', '2028-03-01T00:00:00.000Z'],
    ['month', 'UTC', '2026-12-31T23:59:59Z', '2026-12-01T00:00:00.000Z', '2027-01-01T00:00:00.000Z'],
    ['month', 'Asia/Kolkata', '2026-01-31T18:30:00Z', '2026-01-31T18:30:00.000Z', '2026-02-28T18:30:00.000Z'],
    [
      'month',
      'Europe/Berlin',
      '2026-03-10T00:00:00Z',
      '2026-02-28T23:00:00.000Z',
      '2026-03-31T22:00:00.000Z',
    ],
  ] as const)('a %s in %s around %s', (per, zone, at, start, end) => {
    expect(spanOf(per, zone, at)).toEqual([start, end])
  })

  test('follow each other without a gap, hold the moment asked for, and begin on a quarter of an hour', () => {
    const zones = fc.constantFrom(...Intl.supportedValuesOf('timeZone'))
    const moments = fc.integer({ min: utc('2012-01-01T00:00:00Z'), max: utc('2037-12-31T00:00:00Z') })
    fc.assert(
      fc.property(zones, moments, fc.constantFrom('day', 'month'), (zone, nowMs, per) => {
        const calendar = new Calendar()
        const { startMs, endMs } = calendar.span(per, zone, nowMs)
        expect(startMs <= nowMs && nowMs < endMs).toBe(true)
        expect(startMs % 900_000).toBe(0)
        expect(calendar.span(per, zone, endMs).startMs).toBe(endMs)
        expect(calendar.span(per, zone, startMs - 1).endMs).toBe(startMs)
        const local = new Intl.DateTimeFormat('en-CA', { timeZone: zone, dateStyle: 'short' })
        expect(local.format(startMs)).not.toBe(local.format(startMs - 1))
        if (per === 'month') expect(local.format(startMs).slice(-2)).toBe('01')
      }),
      { numRuns: 400 },
    )
  })
})

describe('budgets', () => {
  const daily = keyEntry('k', { budget: { amountNano: 100n, per: 'day', timezone: 'Europe/Berlin' } })

  test('begin anew by themselves where the day of the zone begins, with holds carried over', () => {
    const scene = new Scene(testClock(utc('2026-03-29T21:00:00Z')))
    scene.serve([daily])
    scene.admit(daily, holding(1, 0, 70n)).settle(used(1), 70n)
    scene.admit(daily, holding(1, 0, 20n))
    expect(scene.outcome(daily, holding(1, 0, 20n))).toBe('budget_exceeded')
    scene.clock.advance(HOUR_MS - 1)
    expect(scene.limiter.limitStatus(daily).budget).toEqual({
      limitNano: 100n,
      spentNano: 70n,
      heldNano: 20n,
    })
    scene.clock.advance(1)
    expect(scene.limiter.limitStatus(daily).budget).toEqual({ limitNano: 100n, spentNano: 0n, heldNano: 20n })
    expect(scene.outcome(daily, holding(1, 0, 81n))).toBe('budget_exceeded')
    expect(scene.outcome(daily, holding(1, 0, 80n))).toBe('admitted')
  })

  test('count a bill into the window in which it ended', () => {
    const scene = new Scene(testClock(utc('2026-03-29T21:59:00Z')))
    scene.serve([daily])
    const reservation = scene.admit(daily, holding(1, 0, 30n))
    scene.clock.advance(HOUR_MS)
    reservation.settle(used(1), 30n)
    expect(scene.limiter.limitStatus(daily).budget?.spentNano).toBe(30n)
  })

  test('are not refilled by a clock that is set back over midnight', () => {
    const scene = new Scene(testClock(utc('2026-03-29T22:10:00Z')))
    scene.serve([daily])
    scene.admit(daily, holding(1, 0, 100n)).settle(used(1), 100n)
    scene.clock.setNowMs(utc('2026-03-29T21:50:00Z'))
    expect(scene.outcome(daily, holding(1, 0, 1n))).toBe('budget_exceeded')
    scene.clock.advance(HOUR_MS)
    expect(scene.outcome(daily, holding(1, 0, 1n))).toBe('budget_exceeded')
  })

  test('in total never begin anew', () => {
    const scene = new Scene()
    const key = keyEntry('k', { budget: { amountNano: 100n, per: 'total', timezone: 'UTC' } })
    scene.serve([key], { sums: [{ key: 'k', totalTokens: 0, totalNano: 60n, windowNano: 5n }] })
    scene.clock.advance(400 * 24 * HOUR_MS)
    expect(scene.outcome(key, holding(1, 0, 41n))).toBe('budget_exceeded')
    expect(scene.outcome(key, holding(1, 0, 40n))).toBe('admitted')
  })

  test('do not reject what is free, however little is left', () => {
    const scene = new Scene()
    scene.serve([daily], { sums: [{ key: 'k', totalTokens: 0, totalNano: 0n, windowNano: 101n }] })
    expect(scene.outcome(daily, holding(1_000, 1_000, 0n))).toBe('admitted')
    expect(scene.outcome(daily, holding(1, 0, 1n))).toBe('budget_exceeded')
  })

  test('are asked for again where a reload gives them another window, while requests of before keep theirs', () => {
    const scene = new Scene(testClock(utc('2026-03-29T21:00:00Z')))
    const monthly = keyEntry('k', { budget: { amountNano: 100n, per: 'month', timezone: 'Europe/Berlin' } })
    scene.serve([daily], { sums: [{ key: 'k', totalTokens: 0, totalNano: 0n, windowNano: 40n }] })
    expect(scene.outcome(monthly)).toBe('unavailable')
    scene.serve([monthly], { sums: [{ key: 'k', totalTokens: 0, totalNano: 0n, windowNano: 90n }] })
    scene.admit(daily, holding(1, 0, 5n)).settle(used(1), 5n)
    expect(scene.limiter.limitStatus(daily).budget?.spentNano).toBe(45n)
    expect(scene.limiter.limitStatus(monthly).budget?.spentNano).toBe(95n)
  })

  test('whose amount alone changes need nothing from the ledger', () => {
    const scene = new Scene()
    scene.serve([daily], { sums: [{ key: 'k', totalTokens: 0, totalNano: 0n, windowNano: 40n }] })
    const raised = keyEntry('k', { budget: { amountNano: 500n, per: 'day', timezone: 'Europe/Berlin' } })
    scene.serve([raised])
    expect(scene.limiter.limitStatus(raised).budget).toEqual({
      limitNano: 500n,
      spentNano: 40n,
      heldNano: 0n,
    })
  })
})
