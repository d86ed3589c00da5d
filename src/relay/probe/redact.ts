/** Of a message of an upstream no more is shown. */
const LONGEST = 200
/** So many characters of a credential in a row are taken for a part of it. */
const TELLING = 6
const MASK = '…'
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\u2028\u2029\s]+/gu

/**
 * What an upstream said, ready to be shown: on one line, shortened, and without anything of the credential, which
 * some vendors repeat when they reject it. Empty where nothing is left to show.
 */
export function redactQuote(said: string | undefined, secrets: readonly string[]): string {
  if (said === undefined) return ''
  const line = withoutSecrets(said.slice(0, 4 * LONGEST), secrets)
    .replaceAll(INVISIBLE, ' ')
    .trim()
  if (line === '') return ''
  return line.length > LONGEST ? `“${line.slice(0, LONGEST)}…”` : `“${line}”`
}

/** Cuts out every part that stands in a secret as well. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  const hidden = new Uint8Array(text.length)
  const lower = text.toLowerCase()
  for (const secret of secrets) {
    const known = secret.toLowerCase()
    const window = Math.min(TELLING, known.length)
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
