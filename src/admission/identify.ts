import { isMistyped, keyDigest } from '../base/api-key.ts'
import { GwError } from '../base/catalogue/wire.ts'
import type { KeyEntry, Snapshot } from '../snapshot/types.ts'

const CREDENTIAL = /^bearer +(\S+) *$/i
/** What is longer than this is no key; hashing it would be work for an attacker's pleasure. */
const MAX_SECRET_LENGTH = 1_024
/** One message whatever is wrong with a key: it must not tell a guess from a near miss. */
const MESSAGE = 'Incorrect API key provided.'
const MISSING = 'No API key: send `Authorization: Bearer` and the key, or the key as `x-api-key`.'

/**
 * The key that a request bears, in `authorization: Bearer` or `x-api-key`. Where one of the two is ours it is that
 * one; where both are and differ the request is rejected, and so it is where either comes twice: two readers could
 * take different ones (spec/security.md §3).
 *
 * @param headers Names and values in turn, as they came.
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

/** Whether a key that is known may be used at all. @throws {GwError} invalid_api_key */
export function checkKey({ name, enabled, expiresAtMs }: KeyEntry, nowMs: number): void {
  if (!enabled) throw rejection(`key ${name} is disabled`)
  if (expiresAtMs <= nowMs) throw rejection(`key ${name} has expired`)
}

/** The key of a secret, whether it may be used or not; undefined where it is nobody's. */
export function keyOf(secret: string, snapshot: Snapshot): KeyEntry | undefined {
  const found = look(secret, snapshot)
  return isEntry(found) ? found : undefined
}

/** What a presented secret turned out to be. */
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

/** A foreign secret beside ours is somebody else's business; a second one of our shape is not. */
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
