import type { Random } from './random.ts'

const TOKEN_BYTES = 32
const ID_BYTES = 6
/** A prefix for secret scanners, different from those of API keys and session tokens. */
const PREFIX = 'gwp_'
const TOKEN = /^gwp_[\w-]{43}$/

/** A personal access token, and the id for listing and revoking it. */
export function newToken(random: Random): { readonly id: string; readonly token: string } {
  return {
    id: Buffer.from(random.bytes(ID_BYTES)).toString('hex'),
    token: PREFIX + Buffer.from(random.bytes(TOKEN_BYTES)).toString('base64url'),
  }
}

export function isAccessToken(text: string): boolean {
  return TOKEN.test(text)
}

/** A token of a one-time log-in link. */
export function newLoginLink(random: Random): string {
  return `gwl_${Buffer.from(random.bytes(TOKEN_BYTES)).toString('base64url')}`
}
