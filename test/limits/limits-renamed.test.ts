import { expect, test } from 'vitest'
import { holding, keyEntry, Scene, tenantEntry, used } from './limits-scene.ts'

test('a key under another name goes on with what it has used, what it holds, and its rates', () => {
  const scene = new Scene()
  const old = keyEntry('old', { quotaTokens: 100, limits: { rpm: 2 } })
  scene.serve([old])
  scene.admit(old, holding(30)).settle(used(30), 0n, scene.clock.nowMs())
  const reservation = scene.admit(old, holding(30))
  const renamed = { ...old, name: 'new' }
  scene.serve([renamed])
  expect(scene.limiter.limitStatus(renamed)).toMatchObject({ quota: { spent: 30, held: 30 } })
  expect(scene.outcome(renamed), 'both requests of the minute are taken').toBe('rate_limit_requests')
  expect(() => scene.admit(renamed, holding(30)), 'clients know the new name').toThrow(
    'of key `new`: limit 2',
  )
  reservation.settle(used(20), 0n, scene.clock.nowMs())
  expect(scene.limiter.limitStatus(renamed)).toMatchObject({ quota: { spent: 50, held: 0 } })
})

test('a prepaid tenant under another name goes on with its balance; a new one of the old name has none of it', () => {
  const scene = new Scene()
  const old = tenantEntry('old', { billing: 'prepaid' })
  scene.serve([keyEntry('k', { tenant: old })], { balances: [['old', 100n]] })
  const renamed = keyEntry('k', { tenant: { ...old, name: 'new' } })
  const foreign = keyEntry('s', { tenant: { ...old, account: 'old~r2' } })
  scene.serve([renamed, foreign], { balances: [['old~r2', 7n]] })
  expect(scene.limiter.limitStatus(renamed)).toMatchObject({ balance: { balanceNano: 100n } })
  expect(scene.limiter.limitStatus(foreign)).toMatchObject({ balance: { balanceNano: 7n } })
  const dear = holding(1, 0, 200n)
  expect(() => scene.admit(renamed, dear)).toThrow('The prepaid balance of tenant `new` does not cover')
  expect(() => scene.admit(foreign, dear)).toThrow('The prepaid balance of tenant `old` does not cover')
})
