import { expect, test } from 'vitest'
import {
  ago,
  authorText,
  clockTime,
  hour,
  milliseconds,
  money,
  moneyColumn,
  pluralized,
  roundedMoney,
  sumOf,
} from '../../console/ui/format.ts'

test('midnight is 00, not 24', () => {
  const time = new Date(2026, 10, 23, 0, 5, 7).toISOString()
  expect(clockTime(time)).toBe('Nov 23, 00:05:07')
  // Not every zone is whole hours from UTC, by which the hours of usage are cut.
  expect(hour(new Date(2026, 10, 23, 0, 30).toISOString())).toBe('Nov 23, 00:30')
})

test.each([
  ['Ada Lovelace <ada@example.com>', 'Ada Lovelace'],
  ['ada', 'ada'],
  ['<ada@example.com>', '<ada@example.com>'],
  [undefined, 'files'],
])('the author of a change is a name, without the address of a commit: %s', (author, text) => {
  expect(authorText(author, 'apply')).toBe(text)
})

test.each([
  ['1234567.5', '1,234,567.50 USD'],
  ['-0.000021', '−0.000021 USD'],
  ['90071992547409931.000000001', '90,071,992,547,409,931.000000001 USD'],
])('money is the text of the ledger, grouped: %s', (amount, text) => {
  expect(money(amount, 'USD')).toBe(text)
})

test.each([
  ['0', '0.00 USD'],
  ['0.004', '< 0.01 USD'],
  ['12.345', '12.35 USD'],
])('rounded money never hides that something was spent: %s', (amount, text) => {
  expect(roundedMoney(amount, 'USD')).toBe(text)
})

test.each([
  [0, 'now'],
  [-42_000, '42 s ago'],
  [90_000, 'in 1 min'],
  [-47 * 3_600_000, '47 h ago'],
  [-72 * 3_600_000, '3 days ago'],
])('a time %i ms from now', (ms, text) => {
  const nowMs = Date.UTC(2026, 10, 23)
  expect(ago(new Date(nowMs + ms).toISOString(), nowMs)).toBe(text)
})

test('units and plurals', () => {
  expect([999.4, 1_234, 12_345, null].map(milliseconds)).toEqual(['999 ms', '1.23 s', '12.3 s', '–'])
  expect([pluralized(1, 'key'), pluralized(2_000, 'key')]).toEqual(['1 key', '2,000 keys'])
})

test('amounts of one column have the same decimals, and lose none', () => {
  const text = moneyColumn(['12.3828372', '0', '1000.5'])
  expect(['12.3828372', '0', '1000.5'].map(text)).toEqual(['12.3828372', '0.0000000', '1,000.5000000'])
})

test('a sum of decimals is exact', () => {
  expect(sumOf(['0.1', '0.2', '-0.000000001', '5'])).toBe('5.299999999')
  expect(sumOf([])).toBe('0')
})
