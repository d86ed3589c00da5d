import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseTime, startOfDay } from '../../src/cli/time-argument.ts'

const NOW_MS = Date.UTC(2026, 0, 15, 12)
const parse = (text: string, timezone = 'UTC', direction: 'ago' | 'ahead' = 'ago') =>
  new Date(parseTime('--since', text, direction, { nowMs: NOW_MS, timezone })).toISOString()

describe('a moment', () => {
  it.each<[string, string]>([
    ['90m', '2026-01-15T10:30:00.000Z'],
    ['30d', '2025-12-16T12:00:00.000Z'],
    ['2026-01-01', '2026-01-01T00:00:00.000Z'],
    ['2026-01-01T08:30:00+02:00', '2026-01-01T06:30:00.000Z'],
  ])('%s is %s', (text, iso) => {
    expect(parse(text)).toBe(iso)
  })

  it('may lie ahead', () => {
    expect(parse('90m', 'UTC', 'ahead')).toBe('2026-01-15T13:30:00.000Z')
  })

  it('before the epoch is the epoch', () => {
    expect(parse('36500d')).toBe('1970-01-01T00:00:00.000Z')
  })

  it.each<[string, string, string]>([
    ['Europe/Berlin', '2026-07-01', '2026-06-30T22:00:00.000Z'],
    ['America/New_York', '2026-07-01', '2026-07-01T04:00:00.000Z'],
    ['Pacific/Kiritimati', '2026-07-01', '2026-06-30T10:00:00.000Z'],
    ['Pacific/Pago_Pago', '2026-07-01', '2026-07-01T11:00:00.000Z'],
    ['Asia/Kathmandu', '2026-07-01', '2026-06-30T18:15:00.000Z'],
    ['America/Sao_Paulo', '2018-11-04', '2018-11-04T03:00:00.000Z'],
  ])('that is a day begins where it does in %s', (timezone, date, iso) => {
    expect(parse(date, timezone)).toBe(iso)
  })

  it.each(['', 'soon', '2026-02-30', '2026-13-01', '2026-1-1', '2026-01-01T00:00:00', '5 d', '-5d'])(
    'is not %j',
    text => {
      expect(() => parse(text)).toThrow(expect.objectContaining({ code: 'usage' }))
    },
  )

  it('that is a day begins the day that has it, in any zone', () => {
    const zone = fc.constantFrom(...Intl.supportedValuesOf('timeZone'))
    const day = fc.date({ min: new Date('2000-01-01'), max: new Date('2040-01-01'), noInvalidDate: true })
    fc.assert(
      fc.property(zone, day, (timezone, date) => {
        const text = date.toISOString().slice(0, 10)
        const ms = parseTime('--since', text, 'ago', { nowMs: NOW_MS, timezone })
        expect(startOfDay(ms, timezone)).toBe(ms)
        expect(Math.abs(ms - Date.parse(text))).toBeLessThanOrEqual(26 * 3_600_000)
      }),
    )
  })
})
