import { describe, expect, test } from 'vitest'
import { PasswordHasher } from '../../src/base/password.ts'
import { systemRandom } from '../../src/base/random.ts'

const CHEAP = { N: 2 ** 4, r: 8, p: 1 }

function hasher(more: { atOnce?: number; maxWaiting?: number } = {}) {
  return new PasswordHasher({ random: systemRandom, atOnce: 2, maxWaiting: 16, cost: CHEAP, ...more })
}

describe('a password', () => {
  test('is hashed with 32 MiB of scrypt and a salt of its own unless set otherwise', async () => {
    const dear = new PasswordHasher({ random: systemRandom, atOnce: 2, maxWaiting: 16 })
    const [one, other] = await Promise.all([dear.hash('correct horse'), dear.hash('correct horse')])
    expect(one).toMatch(/^scrypt\$32768\$8\$3\$[\w-]{22}\$[\w-]{43}$/)
    expect(other).not.toBe(one)
    expect(await dear.verify('correct horse', one, { isKnown: false })).toBe(true)
    expect(await dear.verify('correct horsf', one, { isKnown: false })).toBe(false)
  })

  test('is compared by the cost that it was hashed with', async () => {
    const stored = await hasher().hash('correct horse')
    const costlier = new PasswordHasher({ random: systemRandom, atOnce: 1, maxWaiting: 1 })
    expect(await costlier.verify('correct horse', stored, { isKnown: false })).toBe(true)
  })

  test('without a user is never right', async () => {
    expect(await hasher().verify('', undefined, { isKnown: false })).toBe(false)
  })

  test('is one, however its letters are composed', async () => {
    const stored = await hasher().hash('caf\u00e9 au lait')
    expect(await hasher().verify('cafe\u0301 au lait', stored, { isKnown: false })).toBe(true)
  })

  test('whose hash has another form is a fault and no wrong password', async () => {
    await expect(hasher().verify('x', 'bcrypt$…', { isKnown: false })).rejects.toThrow('unknown form')
  })
})

describe('of many at once', () => {
  test('a few are hashed, some wait, and the others are asked to come again', async () => {
    const full = hasher({ atOnce: 1, maxWaiting: 2 })
    const results = await Promise.allSettled(
      Array.from({ length: 10 }, () => full.verify('x', undefined, { isKnown: false })),
    )
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(3)
    for (const result of results) {
      if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'busy' })
    }
    expect(await full.verify('x', undefined, { isKnown: false })).toBe(false)
  })

  test('those who have logged in from there before go first, and have places of their own', async () => {
    const full = hasher({ atOnce: 1, maxWaiting: 2 })
    const order: string[] = []
    const verify = async (who: string, isKnown: boolean) => {
      await full.verify('x', undefined, { isKnown })
      order.push(who)
    }
    const unknown = [verify('unknown 1', false), verify('unknown 2', false), verify('unknown 3', false)]
    await Promise.all([...unknown, verify('known 1', true), verify('known 2', true)])
    expect(order).toEqual(['unknown 1', 'known 1', 'known 2', 'unknown 2', 'unknown 3'])
  })

  test('those from where fewer have failed go first, and take the place of others in a full line', async () => {
    const full = hasher({ atOnce: 1, maxWaiting: 2 })
    const order: string[] = []
    const verify = async (who: string, rank: number) => {
      await full.verify('x', undefined, { isKnown: false, rank })
      order.push(who)
    }
    const results = await Promise.allSettled([
      verify('at work', 9),
      verify('guesser 1', 3),
      verify('guesser 2', 4),
      verify('new', 0),
      verify('guesser 3', 3),
    ])
    expect(order).toEqual(['at work', 'new', 'guesser 1'])
    expect(results.map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'fulfilled',
      'rejected',
    ])
  })

  test('work that is not wanted any more when its turn comes is not begun, and lets the next one go on', async () => {
    const full = hasher({ atOnce: 1, maxWaiting: 2 })
    const begun: string[] = []
    const verify = (who: string) =>
      full.verify('x', undefined, {
        isKnown: false,
        onTurn: () => {
          if (who === 'second') throw new Error('not any more')
          begun.push(who)
        },
      })
    const results = await Promise.allSettled(['first', 'second', 'third'].map(verify))
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(begun).toEqual(['first', 'third'])
  })

  test('a place is given back also where hashing fails', async () => {
    const one = hasher({ atOnce: 1, maxWaiting: 1 })
    // More memory than is allowed.
    const impossible = `scrypt$${2 ** 20}$8$1$${'A'.repeat(22)}$${'A'.repeat(43)}`
    await expect(one.verify('x', impossible, { isKnown: false })).rejects.toThrow()
    expect(await one.verify('x', undefined, { isKnown: false })).toBe(false)
  })
})
