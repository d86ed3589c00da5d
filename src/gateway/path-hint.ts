/** What to change in a client that calls a path that is nearly one of ours. */
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
 * For a path that is not served: the served one that was probably meant, and what to change. Nothing of the path that
 * came is repeated.
 *
 * @param path As it came, cut at `?`.
 * @param isServed Whether there is such a path, for any method.
 */
export function pathHint(path: string, isServed: (path: string) => boolean): string | undefined {
  let meant = path
  const hints: string[] = []
  for (const { found, right, hint } of MISTAKES) {
    const next = meant.replace(found, right)
    if (next === meant) continue
    meant = next
    hints.push(hint)
    if (isServed(meant)) return `Call \`${shown(meant)}\`: ${hints.join('; ')}.`
  }
  return undefined
}

/** Of a model only that one is asked for. */
function shown(path: string): string {
  return path.startsWith('/v1/models/') ? '/v1/models/{id}' : path
}
