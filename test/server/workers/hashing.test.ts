import { scryptSync } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { Hashing } from '../../../src/server/workers/hashing.ts'
import { niceness } from '../../support/niceness.ts'
import { testClock } from '../../support/test-clock.ts'

/** As `npm test` has built it. */
const MODULES = new URL('../../../dist/server/workers/', import.meta.url)
const OPTIONS = { N: 2 ** 4, r: 8, p: 1, maxmem: 2 ** 20 }

function derivation(password: string, more: Partial<typeof OPTIONS> = {}) {
  return { password, salt: Buffer.from('salt'), lengthBytes: 32, options: { ...OPTIONS, ...more } }
}

function setUp(modules = MODULES) {
  const clock = testClock()
  const thread = new Hashing(clock, modules)
  onTestFinished(() => thread.end())
  return { clock, thread }
}

test('hashes as scrypt does, and gives each its own', async () => {
  const { thread } = setUp()
  const passwords = ['one', 'two', 'größer']
  const hashes = await Promise.all(passwords.map(password => thread.derive(derivation(password))))
  expect(hashes).toEqual(passwords.map(password => scryptSync(password, 'salt', 32, OPTIONS)))
})

test.runIf(process.platform === 'linux')('comes behind the other threads of its process', async () => {
  const { thread } = setUp()
  const before = niceness().filter(nice => nice === 19).length
  await thread.derive(derivation('x'))
  const after = niceness()
  expect(after.filter(nice => nice === 19)).toHaveLength(before + 1)
  expect(Math.min(...after)).toBeLessThan(10)
})

test('a hash that cannot be made is an error, and the next one is made', async () => {
  const { thread } = setUp()
  const impossible = thread.derive(derivation('x', { N: 2 ** 20 }))
  const next = thread.derive(derivation('y'))
  await expect(impossible).rejects.toThrow('memory limit')
  expect(await next).toEqual(scryptSync('y', 'salt', 32, OPTIONS))
})

test('each caller that waits when it ends or fails gets an error, and none waits for ever', async () => {
  const { thread } = setUp()
  const waiting = thread.derive(derivation('x', { N: 2 ** 14, maxmem: 2 ** 26 }))
  const shown = expect(waiting).rejects.toThrow('has ended')
  await thread.end()
  await shown
  expect(await thread.derive(derivation('y'))).toHaveLength(32)

  const { thread: broken } = setUp(new URL('./none/', import.meta.url))
  await expect(broken.derive(derivation('x'))).rejects.toThrow('has failed')
})

test('ends a minute behind the last log-in, and starts again with the next', async () => {
  const { clock, thread } = setUp()
  await thread.derive(derivation('x'))
  expect(clock.pending).toBe(1)
  clock.advance(60_000)
  expect(clock.pending).toBe(0)
  expect(await thread.derive(derivation('y'))).toHaveLength(32)
})
