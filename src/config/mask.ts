import { SECRET_NAME, SECRET_SHAPES } from '../base/secret-shapes.ts'
import { didYouMean } from './did-you-mean.ts'
import { mergeRanges, type Source } from './source.ts'

/** The replacement of a secret. Of fixed length, because the length of a secret is confidential, too. */
export const MASK = '********'

/** A field name that may take a secret reference. */
const SLOT_NAME = /(?:^|[_-])(?:key|token|secret|password|credential)$/i
/** The same for a line that may not be YAML: the value is everything after the colon. */
const SECRET_LINE =
  /(?:key|token|secret|passw\w*|credential|authorization|cookie)["']?\s*[:=]\s*(?!\{\s*["']?(?:env|file)\b)(\S.*)/dgi
/** The fields with a secret reference; a misspelt name must not expose the secret. */
const SLOTS = ['upstream_key', 'secret', 'hash'] as const
const DIGEST = /^sha256:[0-9a-f]{64}$/
const VARIABLE = /^[A-Z][A-Z0-9_]*$/

/** Whether the value of field `name` must not be shown. */
export function holdsSecret(name: string, value: string): boolean {
  if (name === 'hash') return !DIGEST.test(value)
  return SECRET_NAME.test(name) || didYouMean(name, SLOTS) !== undefined
}

/** Whether `name` is a field for a secret reference, such as `upstream_key`. */
export function isSecretSlot(name: string): boolean {
  return SLOT_NAME.test(name)
}

/** Whether this is part of a valid secret reference, which is not a secret itself. */
export function isReferencePart(name: string, value: string): boolean {
  return (name === 'env' && VARIABLE.test(value)) || (name === 'file' && value.startsWith('/'))
}

/** The parts of a line that look like secrets. */
export function secretShapes(line: string): [start: number, end: number][] {
  const found: [number, number][] = []
  for (const shape of SECRET_SHAPES) {
    for (const match of line.matchAll(shape)) found.push([match.index, match.index + match[0].length])
  }
  return found
}

/** The parts of a line after a secret's name, found without YAML: for comments and broken files. */
export function namedSecrets(line: string): [start: number, end: number][] {
  return [...line.matchAll(SECRET_LINE)].flatMap(match => {
    const range = match.indices?.[1]
    return range ? [range] : []
  })
}

/** Replaces everything that looks like a secret by stars. */
export function maskText(text: string): string {
  let shown = ''
  let at = 0
  for (const [start, end] of mergeRanges(secretShapes(text))) {
    shown += text.slice(at, start) + MASK
    at = end
  }
  return shown + text.slice(at)
}

/** In longer lines, secrets are searched only when the line is shown. */
const GUESSED_LENGTH = 4_096
const BLOCK_VALUE = /(?:key|token|secret|passw\w*|credential|authorization)["']?\s*:\s*[|>]/i

/**
 * Redacts every value of this file after a secret's name, independent of the YAML structure; of block texts all lines.
 */
export function redactUnread(source: Source): void {
  source.unread = true
  let blockIndent: number | undefined
  for (let line = 1, range = source.lineRange(1); range !== undefined; range = source.lineRange(++line)) {
    const [start, end] = range
    const text = source.text.slice(start, Math.min(end, start + GUESSED_LENGTH))
    const indent = text.search(/\S/)
    if (blockIndent !== undefined && (indent > blockIndent || indent === -1)) source.redact(start, end)
    else blockIndent = BLOCK_VALUE.test(text) ? indent : undefined
  }
}
