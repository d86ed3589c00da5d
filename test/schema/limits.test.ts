import { expect, test } from 'vitest'
import { decode, encode } from '../../src/schema/kinds.ts'

const canonical = (limits: object) => {
  const { limits: rates, quota, budget } = encode('key', decode('key', { kind: 'platform', ...limits }))
  return { limits: rates, ...(quota !== undefined && { quota }), ...(budget !== undefined && { budget }) }
}

test('a limit without a mode keeps its form, so that a plan over an older configuration shows no change', () => {
  const older = {
    limits: { concurrency: 4, rpm: 60, tpm: { limit: 500, burst: 50 } },
    quota: 7,
    budget: { amount: '5', per: 'day', timezone: 'UTC' },
  }
  expect(JSON.stringify(canonical(older).limits)).toBe(
    '{"concurrency":4,"rpm":60,"tpm":{"burst":50,"limit":500}}',
  )
  expect(canonical(older)).toEqual(older)
})

test('shadow mode is kept, and the default is not written', () => {
  const inMode = (mode?: string) => {
    const written = mode === undefined ? {} : { mode }
    return {
      limits: {
        rpm: { limit: 60, ...written },
        tpm: { limit: 500, ...written },
        concurrency: { limit: 4, ...written },
      },
      quota: { tokens: 7, ...written },
      budget: { amount: '5', per: 'day', timezone: 'UTC', ...written },
    }
  }
  expect(canonical(inMode('shadow'))).toEqual(inMode('shadow'))
  expect(JSON.stringify(canonical(inMode('enforce')))).toBe(JSON.stringify(canonical(inMode())))
})
