/** A common mistake in the base URL of a client, and its correction. */
interface Mistake {
  readonly found: RegExp
  readonly right: string
  readonly hint: string
}

const MISTAKES: readonly Mistake[] = [
  { found: /\/{2,}/g, right: '/', hint: 'end the base URL of the client without a slash' },
  {
    found: /^(?:\/v1){2,}(?=\/)/,
    right: '/v1',
    hint: 'the client adds `/v1` by itself: end its base URL before that',
  },
  { found: /(?<=.)\/$/, right: '', hint: 'leave out the slash at the end' },
  { found: /^(?!\/v1\/)/, right: '/v1', hint: 'end the base URL of the client in `/v1`' },
]

/**
 * For an unknown path: the similar path that is served, and what to change in the client. The answer never repeats the
 * received path.
 *
 * @param path As received, without the query.
 * @param isServed Whether the path exists, for any method.
 */
export function pathHint(path: string, isServed: (path: string) => boolean): string | undefined {
  let corrected = path
  const hints: string[] = []
  for (const { found, right, hint } of MISTAKES) {
    const next = corrected.replace(found, right)
    if (next === corrected) continue
    corrected = next
    hints.push(hint)
    if (isServed(corrected)) return `Call \`${shown(corrected)}\`: ${hints.join('; ')}.`
  }
  return undefined
}

/** Replaces the id of a model, which came from the client. */
function shown(path: string): string {
  return path.startsWith('/v1/models/') ? '/v1/models/{id}' : path
}
