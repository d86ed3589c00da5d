import { distance } from 'fastest-levenshtein'

/** Names longer than this are not typed by hand, and comparing them would be slow. */
const LONGEST = 64

/**
 * The candidate that was probably meant, or nothing where none is near: one edit in names of up to four letters,
 * two (such as two letters swapped) in longer ones, a third of the letters in long ones. Case, `-` and `_` count
 * for nothing, so that `baseUrl` finds `base_url`.
 */
export function didYouMean(word: string, candidates: Iterable<string>): string | undefined {
  if (word.length > LONGEST) return undefined
  const wanted = bare(word)
  let best: string | undefined
  let bestDistance = editsFor(wanted.length) + 1
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

function editsFor(length: number): number {
  return length <= 4 ? 1 : Math.max(2, Math.floor(length / 3))
}

function bare(name: string): string {
  return name.toLowerCase().replaceAll(/[-_]/g, '')
}
