import { describe, expect, test } from 'vitest'
import { Attempts } from '../../../src/control/session/attempts.ts'
import { testClock } from '../../support/test-clock.ts'

function setUp() {
  const clock = testClock()
  const attempts = new Attempts(clock)
  const fail = (times: number, account: string, address: string) => {
    for (let count = 0; count < times; count++) attempts.failed(account, address)
  }
  return { clock, attempts, fail }
}

describe('failures', () => {
  test('are free five times, then cost twice as long each time, half a minute at most', () => {
    const { clock, attempts, fail } = setUp()
    fail(4, 'ada', 'a')
    expect(attempts.pauseMs('ada', 'a')).toBe(0)
    const pauses = Array.from({ length: 7 }, () => {
      fail(1, 'ada', 'a')
      const pauseMs = attempts.pauseMs('ada', 'a')
      clock.advance(pauseMs)
      expect(attempts.pauseMs('ada', 'a')).toBe(0)
      return pauseMs
    })
    expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
  })

  test('are forgotten after a quarter of an hour, and by a success', () => {
    const { clock, attempts, fail } = setUp()
    fail(9, 'ada', 'a')
    clock.advance(15 * 60_000 + 1)
    fail(1, 'ada', 'a')
    expect(attempts.pauseMs('ada', 'a')).toBe(0)
    fail(9, 'ada', 'a')
    attempts.succeeded('ada', 'a')
    fail(4, 'ada', 'a')
    expect(attempts.pauseMs('ada', 'a')).toBe(0)
  })

  test('from elsewhere never shut an account’s owner out', () => {
    const { attempts, fail } = setUp()
    for (let address = 0; address < 500; address++) fail(20, 'ada', `evil ${address}`)
    expect(attempts.pauseMs('ada', 'home')).toBe(0)
  })

  test('of one address over many accounts are slowed down, but not for who has logged in there', () => {
    const { attempts, fail } = setUp()
    attempts.succeeded('ada', 'office')
    for (let account = 0; account < 30; account++) fail(1, `user${account}`, 'office')
    expect(attempts.pauseMs('bob', 'office')).toBe(30_000)
    expect(attempts.pauseMs('ada', 'office')).toBe(0)
  })
})

test.each([
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::9', true],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:3::9', false],
  ['2001:db8::5:0:0:1', '2001:db8::6', true],
  ['2001:db8::1:5:0:0:1', '2001:db8::6', false],
  ['::ffff:192.0.2.1', '192.0.2.1', true],
  ['192.0.2.1', '192.0.2.2', false],
  ['fe80::1%eth0', 'fe80::2%eth0', true],
  ['::1', '1::', false],
  ['::2:3:4:5:6:7:8', '0:2:3:4::', true],
])('whoever has %s has %s as well: %s', (address, other, isOne) => {
  const { attempts, fail } = setUp()
  fail(9, 'ada', address)
  expect(attempts.pauseMs('ada', other) > 0).toBe(isOne)
})

test('what is remembered is bounded', () => {
  const { attempts, fail } = setUp()
  fail(9, 'ada', 'first')
  for (let address = 0; address < 10_000; address++) fail(1, 'ada', `a${address}`)
  expect(attempts.pauseMs('ada', 'first')).toBe(0)
})
