import { expect, test } from 'vitest'
import { guardedLookup, type Lookup } from '../../src/upstream/lookup.ts'

function found(addresses: readonly string[], all: boolean): Promise<unknown> {
  const list = addresses.map(address => ({ address, family: address.includes(':') ? 6 : 4 }))
  const fake: Lookup = (_name, _options, callback) => callback(null, all ? list : (addresses[0] ?? ''), 4)
  return new Promise((resolve, reject) => {
    guardedLookup(fake)('upstream.test', { all }, (error, result) =>
      error ? reject(error) : resolve(result),
    )
  })
}

test.each([['169.254.169.254'], ['fe80::1'], ['::ffff:169.254.169.254']])(
  'a name that leads to %s is rejected, alone or among others',
  async address => {
    await expect(found([address], false)).rejects.toMatchObject({ code: 'ELINKLOCAL' })
    await expect(found(['192.0.2.1', address], true)).rejects.toMatchObject({ code: 'ELINKLOCAL' })
  },
)

test('private and public addresses are what they were', async () => {
  expect(await found(['10.0.0.7'], false)).toBe('10.0.0.7')
  expect(await found(['192.0.2.1', 'fd00::1'], true)).toHaveLength(2)
})

test('the system resolves names that are not made up', async () => {
  const address = await new Promise((resolve, reject) => {
    guardedLookup()('localhost', {}, (error, result) => (error ? reject(error) : resolve(result)))
  })
  expect(['127.0.0.1', '::1']).toContain(address)
})
