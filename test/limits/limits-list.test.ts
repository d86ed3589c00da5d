import { expect, it } from 'vitest'
import { createLimits, limitsFor } from '../../src/limits/limits.ts'
import { CHECKS } from '../../src/schema/api/why.ts'

/** The names of the limits of a call, as `gw why` shows them. */
function namesOf(calls: 'inference' | 'count'): readonly string[] {
  const limits = limitsFor(calls, createLimits('key', 'app'), createLimits('tenant', 'acme'))
  return limits.map(({ owner, name }) => `${owner.kind}_${name}`)
}

it('every limit is a check of `gw why`, in the order in which it is checked', () => {
  const names = namesOf('inference')
  expect(names).toEqual(CHECKS.slice(CHECKS.indexOf('key_concurrency'), CHECKS.indexOf('ledger')))
})

it('a count of tokens has the limit of its requests alone, and a bucket of its own', () => {
  const [key, tenant] = [createLimits('key', 'app'), createLimits('tenant', 'acme')]
  expect(namesOf('count')).toEqual(['key_rpm', 'tenant_rpm'])
  expect(limitsFor('count', key, tenant)).not.toContain(key.requests)
})

it('a key without a tenant has its own limits alone', () => {
  const limits = limitsFor('inference', createLimits('key', 'app'), undefined)
  expect(limits.map(({ name }) => name)).toEqual(['concurrency', 'rpm', 'tpm', 'quota', 'budget'])
})
