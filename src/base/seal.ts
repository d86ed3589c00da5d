import { createCipheriv, createDecipheriv } from 'node:crypto'

/**
 * AES-256-GCM (NIST SP 800-38D): without the key a sealed secret cannot be read, changed, or moved to a use other than
 * the one that it is bound to.
 */
const CIPHER = 'aes-256-gcm'
export const SEAL_KEY_BYTES = 32
/** The size that SP 800-38D §8.2.2 allows for random nonces: two of 2^32 collide with one of 2^32 keys. */
export const NONCE_BYTES = 12
const TAG_BYTES = 16

export interface Sealed {
  readonly nonce: Uint8Array
  /** The ciphertext and its tag. */
  readonly sealed: Uint8Array
}

/**
 * @param boundTo the permitted use; not hidden, but required to unseal.
 * @param nonce {@link NONCE_BYTES} that were never used with this key.
 */
export function seal(secret: string, boundTo: string, key: Uint8Array, nonce: Uint8Array): Sealed {
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
  cipher.setAAD(Buffer.from(boundTo))
  const sealed = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()])
  return { nonce, sealed }
}

/** The secret; undefined if the key or the use differs, or the data was changed. */
export function unseal({ nonce, sealed }: Sealed, boundTo: string, key: Uint8Array): string | undefined {
  if (nonce.length !== NONCE_BYTES || sealed.length < TAG_BYTES) return undefined
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.from(boundTo))
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES))
  try {
    const opened = Buffer.concat([decipher.update(sealed.subarray(0, -TAG_BYTES)), decipher.final()])
    return opened.toString('utf8')
  } catch {
    return undefined // GCM says no more than that it does not fit, and neither do we
  }
}

/** A key of 32 bytes as text: 64 hexadecimal digits, or base64 with or without its padding. */
export function parseSealKey(text: string): Uint8Array | undefined {
  const trimmed = text.trim()
  if (/^[0-9a-f]{64}$/i.test(trimmed)) return Buffer.from(trimmed, 'hex')
  if (!/^[A-Za-z0-9+/_-]{43}=?$/.test(trimmed)) return undefined
  const bytes = Buffer.from(trimmed, 'base64')
  return bytes.length === SEAL_KEY_BYTES ? bytes : undefined
}
