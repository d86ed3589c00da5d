import { describe, expect, test } from 'vitest'
import { LoginThrottle, networksOf } from '../../../src/admin/session/login-throttle.ts'
import type { LoginOrigin } from '../../../src/services/sessions.ts'
import { testClock } from '../../support/test-clock.ts'

/** A client with an address. */
function from(address: string, more: Partial<LoginOrigin> = {}): LoginOrigin {
  return { ...networksOf(address), isKnown: false, ...more }
}

function setUp() {
  const clock = testClock()
  const attempts = new LoginThrottle(clock)
  const fail = (times: number, account: string, origin: LoginOrigin) => {
    for (let count = 0; count < times; count++) attempts.failed(account, origin)
  }
  return { clock, attempts, fail }
}

describe('failures', () => {
  test('are free five times, then cost twice as long each time, half a minute at most', () => {
    const { clock, attempts, fail } = setUp()
    const a = from('192.0.2.1')
    fail(4, 'ada', a)
    expect(attempts.pauseMs('ada', a)).toBe(0)
    const pauses = Array.from({ length: 7 }, () => {
      fail(1, 'ada', a)
      const pauseMs = attempts.pauseMs('ada', a)
      clock.advance(pauseMs)
      expect(attempts.pauseMs('ada', a)).toBe(0)
      return pauseMs
    })
    expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
  })

  test('are forgotten after a quarter of an hour, and by a success', () => {
    const { clock, attempts, fail } = setUp()
    const a = from('192.0.2.1')
    fail(9, 'ada', a)
    clock.advance(15 * 60_000 + 1)
    expect(attempts.failuresOf(a)).toBe(0)
    fail(1, 'ada', a)
    expect(attempts.pauseMs('ada', a)).toBe(0)
    fail(9, 'ada', a)
    attempts.succeeded('ada', a)
    fail(4, 'ada', a)
    expect(attempts.pauseMs('ada', a)).toBe(0)
  })

  test('from elsewhere never shut an account’s owner out', () => {
    const { attempts, fail } = setUp()
    for (let host = 0; host < 250; host++) fail(20, 'ada', from(`198.51.100.${host}`))
    expect(attempts.pauseMs('ada', from('192.0.2.1'))).toBe(0)
  })

  test('of one address over many accounts are slowed down, but not for who has logged in there', () => {
    const { attempts, fail } = setUp()
    const office = from('192.0.2.1')
    for (let account = 0; account < 30; account++) fail(1, `user${account}`, office)
    expect(attempts.pauseMs('bob', office)).toBe(30_000)
    expect(attempts.pauseMs('ada', from('192.0.2.1', { isKnown: true }))).toBe(0)
  })

  test('of an outsider behind the same proxy do not slow down a device that has logged in before', () => {
    const { attempts, fail } = setUp()
    fail(40, 'admin', from('192.0.2.1', { isKnown: true }))
    expect(attempts.pauseMs('admin', from('192.0.2.1', { isKnown: true }))).toBe(30_000)
    const device = from('192.0.2.1', { isKnown: true, device: 'd1' })
    expect(attempts.pauseMs('admin', device)).toBe(0)
    // Which is no way to guess on.
    fail(9, 'admin', device)
    expect(attempts.pauseMs('admin', device)).toBeGreaterThan(0)
  })

  test('of many networks of one site are slowed down together', () => {
    const { attempts, fail } = setUp()
    for (let subnet = 1; subnet <= 110; subnet++) {
      fail(1, `user${subnet}`, from(`2001:db8:1:${subnet.toString(16)}::1`))
    }
    expect(attempts.pauseMs('bob', from('2001:db8:1:ffff::1'))).toBe(30_000)
    expect(attempts.pauseMs('bob', from('2001:db8:2:ffff::1'))).toBe(0)
    expect(attempts.failuresOf(from('2001:db8:1:ffff::1'))).toBe(110)
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
])('a client that has %s has %s as well: %s', (address, other, isOne) => {
  const { attempts, fail } = setUp()
  fail(9, 'ada', from(address))
  expect(attempts.pauseMs('ada', from(other)) > 0).toBe(isOne)
})

test('what is remembered is bounded', () => {
  const { attempts, fail } = setUp()
  fail(9, 'ada', from('192.0.2.1'))
  for (let host = 0; host < 10_000; host++) fail(1, 'ada', from(`198.51.${host >> 8}.${host & 255}`))
  expect(attempts.pauseMs('ada', from('192.0.2.1'))).toBe(0)
})
