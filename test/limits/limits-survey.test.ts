import { describe, expect, it } from 'vitest'
import { Limiter } from '../../src/limits/limiter.ts'
import { testClock } from '../support/test-clock.ts'
import { keyEntry, MODEL, snapshotOf, tenantEntry } from './limits-scene.ts'

const ESTIMATE = {
  inputTokens: 10,
  outputTokens: 20,
  amountNano: 5n,
  likelyInputTokens: 8,
  likelyInputNano: 1n,
}
const REQUEST = { publication: MODEL, estimate: ESTIMATE }
const tenant = tenantEntry('acme', { limits: { rpm: 5, tpm: 1_000, concurrency: 3 }, billing: 'prepaid' })
const key = keyEntry('app', {
  tenant,
  limits: { rpm: 2, tpm: 100, concurrency: 2 },
  quotaTokens: 1_000,
  budget: { amountNano: 100n, per: 'day', timezone: 'UTC' },
})

function scene() {
  const clock = testClock()
  const limiter = new Limiter(clock)
  const question = limiter.balanceQuery(snapshotOf(key))
  question.answerSums([{ key: 'app', totalTokens: 700, totalNano: 90n, windowNano: 40n }])
  question.answerBalances(new Map([['acme', 50n]]))
  limiter.adopt(snapshotOf(key))
  const admit = (requestId: string) => limiter.admit({ requestId, key, ...REQUEST, holdForMs: 60_000 })
  return { clock, limiter, admit }
}

describe('a survey of limits', () => {
  it('has each limit of key and tenant in the order in which they reject, with its numbers', () => {
    const { limiter, admit } = scene()
    admit('one')
    expect(
      limiter.inspect(key, REQUEST).map(({ info: { name }, of, usage }) => {
        const { limit, used, held, needed } = usage
        return [`${of} ${name}`, limit, used, held, needed]
      }),
    ).toEqual([
      ['key concurrency', 2, 0, 1, 1],
      ['tenant concurrency', 3, 0, 1, 1],
      ['key rpm', 2, 1, 0, 1],
      ['tenant rpm', 5, 1, 0, 1],
      ['key tpm', 100, 30, 0, 30],
      ['tenant tpm', 1_000, 30, 0, 30],
      ['key quota', 1_000, 700, 30, 30],
      ['key budget', 100n, 40n, 5n, 5n],
      ['tenant balance', undefined, 50n, 5n, 5n],
    ])
  })

  it('takes nothing, however often it is asked, and keeps nothing of unknown keys', () => {
    const { limiter, admit } = scene()
    for (let again = 0; again < 1_000; again++) {
      expect(limiter.inspect(key, REQUEST).some(({ rejection }) => rejection)).toBe(false)
      limiter.inspect(keyEntry(`unknown-${again}`, { limits: { rpm: 1 } }), REQUEST)
    }
    expect(limiter.counted).toBe(2)
    admit('one')
    admit('two')
    expect(() => admit('three')).toThrow('Too many requests at a time')
  })

  it('rejects with what the request is then rejected with, and tells what would reject behind it', () => {
    const { clock, limiter, admit } = scene()
    admit('one').leave()
    admit('two').leave()
    const rejections = () =>
      limiter.inspect(key, REQUEST).flatMap(({ info: { name }, rejection }) => (rejection ? [name] : []))
    expect(rejections()).toEqual(['rpm'])
    const [shown] = limiter.inspect(key, REQUEST).flatMap(({ rejection }) => rejection ?? [])
    expect(() => admit('three')).toThrow(shown?.message)
    clock.advance(30_000)
    expect(rejections()).toEqual([])
  })

  it('of count_tokens has its own requests per minute alone', () => {
    const { limiter } = scene()
    limiter.countTokens(key)
    expect(limiter.inspect(key).map(({ info: { name }, of, usage }) => [of, name, usage.used])).toEqual([
      ['key', 'rpm', 1],
      ['tenant', 'rpm', 1],
    ])
  })
})
