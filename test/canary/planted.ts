import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A secret that stands for all that could be put into one slot. Long, random, and of characters that survive a header. */
const canary = (slot: string): string => `${slot}-canary-${randomBytes(24).toString('hex')}`

/**
 * Every slot that takes a secret, and what must never be written down although no schema calls it one. A new slot is a
 * line here, and whatever puts its canary in its place.
 */
export const SLOTS = {
  'upstream_key, by variable': canary('uv'),
  'upstream_key, by file': canary('uf'),
  'upstream_key that its upstream rejects, and repeats': canary('uu'),
  'upstream_key, over REST': canary('ur'),
  'upstream_key, over REST, that its upstream rejects, and repeats': canary('rr'),
  'header of an endpoint, by variable': canary('hv'),
  'header of an endpoint, by file': canary('hf'),
  'header of an endpoint that its upstream rejects, and repeats': canary('hr'),
  'secret of a key, by variable': canary('kv'),
  'secret of a key, by file': canary('kf'),
  'secret of a key, by its hash': canary('kh'),
  METRICS_TOKEN: canary('mt'),
  OTEL_EXPORTER_OTLP_HEADERS: canary('ot'),
  GW_ADMIN_PASSWORD: canary('ap'),
  GW_MASTER_KEY: randomBytes(32).toString('hex'),
  'a variable that nothing refers to': canary('un'),
  'a foreign key': canary('sk'),
  'a mistyped key of ours': `gw_${randomBytes(20).toString('hex')}`,
  'a key in a query string': canary('qs'),
  'a password in another header': canary('oh'),
  'a made-up name of a model': canary('mm'),
  'a prompt': canary('pr'),
  'an answer': canary('an'),
} as const

/** A mask may show how a secret begins and ends: its middle is never shown. */
const SHOWN_AT_MOST = 8

/** All the ways in which a secret could be written down whole. */
function spellings(secret: string): readonly string[] {
  const middle = secret.slice(SHOWN_AT_MOST, -SHOWN_AT_MOST)
  const bytes = Buffer.from(secret)
  return [
    middle,
    encodeURIComponent(middle),
    bytes.toString('hex'),
    bytes.toString('base64').slice(0, -4),
    Buffer.from(`Bearer ${secret}`).toString('base64').slice(0, -4),
  ]
}

/** The slots whose canary is in `text`, however it is spelt. */
export function slotsIn(
  text: string | Buffer,
  secrets: Readonly<Record<string, string>> = SLOTS,
): readonly string[] {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text
  return Object.entries(secrets)
    .filter(([, secret]) => spellings(secret).some(spelling => bytes.includes(spelling)))
    .map(([slot]) => slot)
}

/** Every file of a folder and below it, by its path in there. */
export function filesOf(folder: string): ReadonlyMap<string, Buffer> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile())
  return new Map(
    files.map(({ parentPath, name }) => [join(parentPath, name), readFileSync(join(parentPath, name))]),
  )
}

export function hashOf(secret: string): string {
  return `sha256:${createHash('sha256').update(secret).digest('hex')}`
}
