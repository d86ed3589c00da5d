import type { Random } from './random.ts'

const SECRET_BYTES = 32
const ID_BYTES = 6
/** Prefixes for secret scanners, different from those of all other secrets. */
const JOIN_TOKEN = /^gwj_[\w-]{43}$/
const CREDENTIAL = /^gwn_[\w-]{43}$/

/** A token with which nodes join, and the id for listing and revoking it. */
export function newJoinToken(random: Random): { readonly id: string; readonly token: string } {
  return { id: Buffer.from(random.bytes(ID_BYTES)).toString('hex'), token: `gwj_${secret(random)}` }
}

/** The credential of a node. */
export function newNodeCredential(random: Random): string {
  return `gwn_${secret(random)}`
}

export function isJoinToken(text: string): boolean {
  return JOIN_TOKEN.test(text)
}

export function isNodeCredential(text: string): boolean {
  return CREDENTIAL.test(text)
}

function secret(random: Random): string {
  return Buffer.from(random.bytes(SECRET_BYTES)).toString('base64url')
}
