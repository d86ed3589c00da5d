import { isMistyped, keyDigest } from '../base/api-key.ts'
import { GwError } from '../base/catalogue/wire.ts'
import type { KeyEntry, Snapshot } from '../snapshot/types.ts'

const CREDENTIAL = /^bearer +(\S+) *$/i
/** A longer secret is not hashed: that would let attackers waste CPU. */
const MAX_SECRET_LENGTH = 1_024
/** One message for all errors of a key: it must not distinguish a guess from a near miss. */
const MESSAGE = 'Incorrect API key provided.'
const MISSING = 'No API key: send `Authorization: Bearer` and the key, or the key as `x-api-key`.'

/**
 * The key of a request, from `authorization: Bearer` or `x-api-key`. If one of the two is a gw key, it counts. The
 * request is rejected if both are different gw keys, or if either header is repeated: two readers could choose
 * differently (spec/security.md §3).
 *
 * @param headers As received; names and values alternate.
 * @throws {GwError} invalid_api_key, with the reason for the log.
 */
export function identify(headers: readonly string[], snapshot: Snapshot, nowMs: number): KeyEntry {
  let bearer: string | undefined
  let apiKey: string | undefined
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index] as string
    if (name.length === 13 && name.toLowerCase() === 'authorization') {
      if (bearer !== undefined) throw rejection('two authorization lines')
      bearer = CREDENTIAL.exec(headers[index + 1] as string)?.[1] ?? ''
    } else if (name.length === 9 && name.toLowerCase() === 'x-api-key') {
      if (apiKey !== undefined) throw rejection('two x-api-key lines')
      apiKey = headers[index + 1] as string
    }
  }
  const entry = choose(look(bearer, snapshot), look(apiKey, snapshot))
  checkKey(entry, nowMs)
  return entry
}

/** Checks that a known key is enabled and valid. @throws {GwError} invalid_api_key */
export function checkKey({ name, enabled, expiresAtMs }: KeyEntry, nowMs: number): void {
  if (!enabled) throw rejection(`key ${name} is disabled`)
  if (expiresAtMs <= nowMs) throw rejection(`key ${name} has expired`)
}

/** The key of a secret, also if it is disabled or expired; undefined if the secret is unknown. */
export function keyOf(secret: string, snapshot: Snapshot): KeyEntry | undefined {
  const found = look(secret, snapshot)
  return isEntry(found) ? found : undefined
}

/** The result of looking up a presented secret. */
type Found = KeyEntry | Missing
type Missing = 'absent' | 'foreign' | 'mistyped' | 'unknown'

function choose(one: Found, other: Found): KeyEntry {
  if (isEntry(one) && isEntry(other)) {
    if (one.name === other.name) return one
    throw rejection(`two keys at once: ${one.name} and ${other.name}`)
  }
  if (isEntry(one)) return unlessAmbiguous(one, other)
  if (isEntry(other)) return unlessAmbiguous(other, one)
  if (one === 'absent' && other === 'absent') throw rejection('key absent', MISSING)
  throw rejection(`key ${one === 'absent' ? other : one}`)
}

/** A foreign secret beside a gw key is ignored; a second one in the form of a gw key is rejected. */
function unlessAmbiguous(entry: KeyEntry, beside: Found): KeyEntry {
  if (beside === 'unknown' || beside === 'mistyped')
    throw rejection(`key ${entry.name} beside another, ${beside}`)
  return entry
}

function isEntry(found: Found): found is KeyEntry {
  return typeof found === 'object'
}

function look(secret: string | undefined, snapshot: Snapshot): Found {
  if (!secret) return 'absent'
  if (secret.length > MAX_SECRET_LENGTH) return 'foreign'
  if (isMistyped(secret)) return 'mistyped'
  return snapshot.keys.get(keyDigest(secret)) ?? (secret.startsWith('gw_') ? 'unknown' : 'foreign')
}

function rejection(reason: string, message = MESSAGE): GwError {
  return new GwError('invalid_api_key', message, { reason })
}
