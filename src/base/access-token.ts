import type { Chance } from './chance.ts'

const TOKEN_BYTES = 32
const ID_BYTES = 6
/** A scanner can find it, and it is neither an API key nor the token of a session. */
const PREFIX = 'gwp_'
const TOKEN = /^gwp_[\w-]{43}$/

/** A personal access token, and the id by which it is listed and revoked. */
export function newToken(chance: Chance): { readonly id: string; readonly token: string } {
  return {
    id: Buffer.from(chance.bytes(ID_BYTES)).toString('hex'),
    token: PREFIX + Buffer.from(chance.bytes(TOKEN_BYTES)).toString('base64url'),
  }
}

export function isAccessToken(text: string): boolean {
  return TOKEN.test(text)
}
