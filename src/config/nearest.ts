import { distance } from 'fastest-levenshtein'

/** Names longer than this are not typed by hand, and comparing them would be slow. */
const LONGEST = 64

/**
 * The candidate that was probably meant, or nothing where none is near: one edit in short names, up to a third
 * of the letters in long ones. Case, `-` and `_` count for nothing, so that `baseUrl` finds `base_url`.
 */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  if (word.length > LONGEST) return undefined
  const wanted = bare(word)
  let best: string | undefined
  let bestDistance = Math.max(1, Math.floor(wanted.length / 3)) + 1
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - word.length) > bestDistance + 2) continue
    const edits = distance(wanted, bare(candidate))
    if (edits < bestDistance) {
      best = candidate
      bestDistance = edits
    }
  }
  return best
}

function bare(name: string): string {
  return name.toLowerCase().replaceAll(/[-_]/g, '')
}
