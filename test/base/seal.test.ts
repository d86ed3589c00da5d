import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { NONCE_BYTES, parseSealKey, seal, unseal } from '../../src/base/seal.ts'

const key = () => randomBytes(32)
const nonce = () => randomBytes(NONCE_BYTES)
const text = fc.string({ unit: 'grapheme', maxLength: 200 })

describe('a sealed secret', () => {
  test('is opened by its key for its use, whatever it is', () => {
    fc.assert(
      fc.property(text, text, (secret, use) => {
        const [own, once] = [key(), nonce()]
        expect(unseal(seal(secret, use, own, once), use, own)).toBe(secret)
      }),
    )
  })

  test('is opened by no other key, for no other use, and under no other nonce', () => {
    const own = key()
    const sealed = seal('sk-secret', 'endpoint/a', own, nonce())
    expect(unseal(sealed, 'endpoint/a', key())).toBeUndefined()
    expect(unseal(sealed, 'endpoint/b', own)).toBeUndefined()
    expect(unseal({ ...sealed, nonce: nonce() }, 'endpoint/a', own)).toBeUndefined()
  })

  test('is not opened any more once a bit of it has changed, or some of it is missing', () => {
    const own = key()
    const sealed = seal('sk-secret', 'use', own, nonce())
    for (let at = 0; at < sealed.sealed.length * 8; at++) {
      const changed = Buffer.from(sealed.sealed)
      changed[at >> 3] = (changed[at >> 3] ?? 0) ^ (1 << (at & 7))
      expect(unseal({ ...sealed, sealed: changed }, 'use', own)).toBeUndefined()
    }
    for (let length = 0; length < sealed.sealed.length; length++) {
      expect(unseal({ ...sealed, sealed: sealed.sealed.subarray(0, length) }, 'use', own)).toBeUndefined()
    }
    // A shorter tag would be easier to hit (SP 800-38D, appendix C).
    expect(unseal({ ...sealed, nonce: new Uint8Array(0) }, 'use', own)).toBeUndefined()
  })

  test('shows nothing of it', () => {
    const { sealed } = seal('sk-secret-secret', 'use', key(), nonce())
    expect(Buffer.from(sealed).includes('secret')).toBe(false)
    expect(seal('same', 'use', Buffer.alloc(32), nonce()).sealed).not.toEqual(
      seal('same', 'use', Buffer.alloc(32), nonce()).sealed,
    )
  })
})

describe('a key as text', () => {
  const bytes = key()

  test.each([
    ['hexadecimal digits', bytes.toString('hex')],
    ['capital ones', bytes.toString('hex').toUpperCase()],
    ['base64', bytes.toString('base64')],
    ['base64 without padding', bytes.toString('base64').replace('=', '')],
    ['base64url', bytes.toString('base64url')],
    ['with a line break', `${bytes.toString('base64')}\n`],
  ])('is read as %s', (_, text) => {
    expect(Buffer.from(parseSealKey(text) ?? [])).toEqual(bytes)
  })

  test.each([
    ['nothing', ''],
    ['a password', 'correct horse battery staple'],
    ['31 bytes', randomBytes(31).toString('base64')],
    ['33 bytes', randomBytes(33).toString('base64')],
    ['63 digits', bytes.toString('hex').slice(1)],
    ['a key and more', `${bytes.toString('base64')} x`],
  ])('is not %s', (_, text) => {
    expect(parseSealKey(text)).toBeUndefined()
  })
})
