import { expect, it } from 'vitest'
import { createLimits, limitsFor } from '../../src/limits/limits.ts'

/** The names of the limits of a call, as `gw why` shows them. */
function namesOf(calls: 'inference' | 'count'): readonly string[] {
  const limits = limitsFor(calls, createLimits('key', 'app'), createLimits('tenant', 'acme'))
  return limits.map(({ owner, info }) => `${owner.kind}_${info.name}`)
}

it('the limits of a call are checked in this order', () => {
  expect(namesOf('inference')).toEqual([
    'key_concurrency',
    'tenant_concurrency',
    'key_rpm',
    'tenant_rpm',
    'key_tpm',
    'tenant_tpm',
    'key_quota',
    'key_budget',
    'tenant_balance',
  ])
})

it('a count of tokens has the limit of its requests alone, and a bucket of its own', () => {
  const [key, tenant] = [createLimits('key', 'app'), createLimits('tenant', 'acme')]
  expect(namesOf('count')).toEqual(['key_rpm', 'tenant_rpm'])
  expect(limitsFor('count', key, tenant)).not.toContain(key.requests)
})

it('a key without a tenant has its own limits alone', () => {
  const limits = limitsFor('inference', createLimits('key', 'app'), undefined)
  expect(limits.map(({ info }) => info.name)).toEqual(['concurrency', 'rpm', 'tpm', 'quota', 'budget'])
})
