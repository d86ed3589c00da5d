import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { Random } from './random.ts'

/**
 * An API key is `gw_`, 40 random base62 characters (238 bits) and a checksum of 6. With the checksum a typo is rejected
 * without a look-up, and a secret scanner can distinguish a key from noise (the scheme of GitHub's tokens: CRC-32 in base62).
 */
const PREFIX = 'gw_'
const RANDOM_LENGTH = 40
const CHECKSUM_LENGTH = 6
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const MINTED = /^gw_[0-9A-Za-z]{38,}$/
/** The largest multiple of 62 below 256: bytes from here on are dropped, because they would favour the first letters. */
const UNBIASED = 248

/** A new secret. It is shown once; only its {@link keyDigest} is stored. */
export function mintKey(random: Random): string {
  let randomPart = ''
  while (randomPart.length < RANDOM_LENGTH) {
    for (const byte of random.bytes(RANDOM_LENGTH)) {
      if (byte < UNBIASED && randomPart.length < RANDOM_LENGTH) randomPart += BASE62.charAt(byte % 62)
    }
  }
  return PREFIX + randomPart + checksum(randomPart)
}

/** Whether a text in the form of an API key has a wrong checksum: a typo, not worth a look-up. */
export function isMistyped(secret: string): boolean {
  if (!MINTED.test(secret)) return false
  const end = secret.length - CHECKSUM_LENGTH
  return checksum(secret.slice(PREFIX.length, end)) !== secret.slice(end)
}

/** SHA-256 of a secret in lower-case hexadecimal digits: the only stored form. */
export function keyDigest(secret: string): string {
  return hash('sha256', secret)
}

function checksum(randomPart: string): string {
  let rest = crc32(randomPart)
  let text = ''
  for (let place = 0; place < CHECKSUM_LENGTH; place++) {
    text = BASE62.charAt(rest % 62) + text
    rest = Math.floor(rest / 62)
  }
  return text
}
