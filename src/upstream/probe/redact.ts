/** Limit of a quoted message in characters. */
const MAX_LENGTH = 200
/** This many consecutive characters of a credential are redacted. */
const MIN_SECRET_PART = 6
const MASK = '…'
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\u2028\u2029\s]+/gu

/**
 * Quotes an upstream's message for display: on one line, shortened, and without any part of the credential, which some
 * vendors repeat when they reject it. Empty if nothing is left.
 */
export function redactQuote(message: string | undefined, secrets: readonly string[]): string {
  if (message === undefined) return ''
  const line = withoutSecrets(message.slice(0, 4 * MAX_LENGTH), secrets)
    .replaceAll(INVISIBLE, ' ')
    .trim()
  if (line === '') return ''
  return line.length > MAX_LENGTH ? `“${line.slice(0, MAX_LENGTH)}…”` : `“${line}”`
}

/** Masks every part that also occurs in a secret. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  const hidden = new Uint8Array(text.length)
  const lower = text.toLowerCase()
  for (const secret of secrets) {
    const known = secret.toLowerCase()
    const window = Math.min(MIN_SECRET_PART, known.length)
    if (window === 0) continue
    for (let at = 0; at + window <= lower.length; at++) {
      if (known.includes(lower.slice(at, at + window))) hidden.fill(1, at, at + window)
    }
  }
  let shown = ''
  for (let at = 0; at < text.length; at++) {
    if (!hidden[at]) shown += text[at]
    else if (!hidden[at - 1]) shown += MASK
  }
  return shown
}
