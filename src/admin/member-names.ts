import type { FieldFault } from '../base/catalogue/api.ts'
import type { JsonMember } from '../base/json/scanner.ts'
import { isStorable } from '../base/storable-text.ts'
import type { Fields } from '../schema/api/reshape.ts'
import type { Json } from '../schema/kinds.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a

/**
 * Finds member names that `JSON.parse` resolves silently: of duplicate names the last one wins, and `__proto__` is a
 * name that many programs mishandle. Neither is ever intended.
 *
 * @param bytes the text; `members` are those at its root and `value` is its parsed form.
 */
export function faultOfNames(
  bytes: Uint8Array,
  members: readonly JsonMember[],
  value: Fields,
): FieldFault | undefined {
  const seen = new Set<string>()
  for (const { name, kind, start, end } of members) {
    if (seen.has(name)) return { pointer: pointerOf([name]), detail: 'duplicate member' }
    seen.add(name)
    const child = value[name]
    if (child === undefined || (kind !== 'object' && kind !== 'array')) continue
    if (namesIn(bytes, start, end) !== membersOf(child)) {
      return { pointer: pointerOf([name]), detail: 'contains a duplicate member' }
    }
  }
  const path = pathToProto(value)
  return path && { pointer: pointerOf(path), detail: 'invalid member name' }
}

/** Finds a name or a text that no store can hold, see {@link isStorable}. */
export function faultOfTexts(bytes: Buffer, value: Fields): FieldFault | undefined {
  // Raw control characters are no JSON, and the bytes are valid UTF-8.
  if (!ESCAPED.test(bytes.toString('latin1'))) return undefined
  const path = pathToUnstorable(value)
  return path && { pointer: pointerOf(path), detail: 'contains NUL, or half of a surrogate pair' }
}

const ESCAPED = /\\u(?:0000|d[89a-f])/i

/** A JSON pointer (RFC 6901). */
export function pointerOf(path: readonly PropertyKey[]): string {
  return path.map(step => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

/** The number of members written in a valid text: the colons outside of strings. */
function namesIn(bytes: Uint8Array, start: number, end: number): number {
  let count = 0
  for (let at = start; at < end; at++) {
    const byte = bytes[at]
    if (byte === COLON) count++
    else if (byte === QUOTE) at = endOfString(bytes, at)
  }
  return count
}

/** The closing quote of a string. */
function endOfString(bytes: Uint8Array, opening: number): number {
  let at = opening + 1
  while (bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1
  return at
}

/** The number of members after parsing. The depth was limited on reading. */
function membersOf(value: Json): number {
  if (typeof value !== 'object' || value === null) return 0
  const children = Object.values(value)
  const own = Array.isArray(value) ? 0 : children.length
  return children.reduce((sum: number, child) => sum + membersOf(child), own)
}

function pathToUnstorable(value: Json): string[] | undefined {
  if (typeof value === 'string') return isStorable(value) ? undefined : []
  if (typeof value !== 'object' || value === null) return undefined
  for (const [name, child] of Object.entries(value)) {
    const path = isStorable(name) ? pathToUnstorable(child) : []
    if (path) return [name.toWellFormed(), ...path]
  }
  return undefined
}

function pathToProto(value: Json): string[] | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  for (const [name, child] of Object.entries(value)) {
    if (name === '__proto__') return [name]
    const path = pathToProto(child)
    if (path) return [name, ...path]
  }
  return undefined
}
