import { describe, expect, test } from 'vitest'
import { holding, keyEntry, MODEL, Scene, used } from './limits-scene.ts'

describe('a reservation', () => {
  const key = keyEntry('k', { limits: { concurrency: 1 }, quotaTokens: 1_000 })

  test('ends once: what comes second changes nothing', () => {
    const scene = new Scene()
    scene.serve([key])
    const reservation = scene.admit(key, holding(100))
    expect(reservation.settle(used(10), 0n)).toBe(true)
    expect(reservation.settle(used(99), 9n)).toBe(false)
    expect(reservation.release()).toBe(false)
    expect(scene.limiter.limitStatus(key).quota).toEqual({ limit: 1_000, spent: 10, held: 0 })
    reservation.leave()
    reservation.leave()
    expect(scene.outcome(key)).toBe('admitted')
    expect(scene.outcome(key)).toBe('rate_limit_concurrency')
  })

  test('keeps its permit from the bill to the last byte', () => {
    const scene = new Scene()
    scene.serve([key])
    const reservation = scene.admit(key)
    reservation.settle(used(1), 0n)
    expect([scene.limiter.openHolds, scene.limiter.openReservations]).toEqual([0, 1])
    expect(scene.outcome(key)).toBe('rate_limit_concurrency')
    reservation.leave()
    expect(scene.limiter.openReservations).toBe(0)
    expect(scene.outcome(key)).toBe('admitted')
  })

  test('keeps its hold where the permit went first', () => {
    const scene = new Scene()
    scene.serve([key])
    const reservation = scene.admit(key, holding(100))
    reservation.leave()
    expect([scene.limiter.openHolds, scene.limiter.openReservations]).toEqual([1, 1])
    reservation.release()
    expect([scene.limiter.openHolds, scene.limiter.openReservations]).toEqual([0, 0])
  })

  test('past its deadline is ended by the sweeper at the cost of its input, and said so once', () => {
    const scene = new Scene()
    scene.serve([key])
    const reservation = scene.admit(key, holding(100, 400, 50n), { holdForMs: 5_000 })
    expect(reservation.hold).toEqual({
      requestId: 'req_1',
      openedAtMs: scene.clock.nowMs(),
      deadlineMs: scene.clock.nowMs() + 5_000,
      amountNano: 50n,
      tokens: 500,
      inputTokens: 100,
      inputAmountNano: 25n,
      prepaid: false,
    })
    scene.clock.advance(4_999)
    expect(scene.limiter.sweep()).toEqual([])
    scene.clock.advance(1)
    expect(scene.limiter.sweep()).toEqual([reservation])
    expect(scene.limiter.sweep()).toEqual([])
    expect(reservation.isHeld).toBe(false)
    expect(scene.limiter.limitStatus(key).quota).toEqual({ limit: 1_000, spent: 100, held: 0 })
    expect(scene.limiter.openReservations).toBe(0)
    expect(scene.outcome(key, holding(1, 0, 0n))).toBe('admitted')
  })

  test('is not swept because the wall clock was set forward', () => {
    const scene = new Scene()
    scene.serve([key])
    scene.admit(key, holding(1), { holdForMs: 5_000, publication: MODEL })
    scene.clock.setNowMs(scene.clock.nowMs() + 86_400_000)
    expect(scene.limiter.sweep()).toEqual([])
  })
})
