import type { Random } from './random.ts'

const TOKEN_BYTES = 32
const ID_BYTES = 6
/** A scanner can find it, and it is neither an API key nor the token of a session. */
const PREFIX = 'gwp_'
const TOKEN = /^gwp_[\w-]{43}$/

/** A personal access token, and the id by which it is listed and revoked. */
export function newToken(random: Random): { readonly id: string; readonly token: string } {
  return {
    id: Buffer.from(random.bytes(ID_BYTES)).toString('hex'),
    token: PREFIX + Buffer.from(random.bytes(TOKEN_BYTES)).toString('base64url'),
  }
}

export function isAccessToken(text: string): boolean {
  return TOKEN.test(text)
}
