import { distance } from 'fastest-levenshtein'

/** Longer names are not typed manually, and comparing them would be slow. */
const LONGEST = 64

/**
 * The most similar candidate, or undefined if none is close: one edit in names of up to four letters, two (such as two
 * swapped letters) in longer ones, a third of the letters in long ones. Ignores case, `-` and `_`, so that `baseUrl`
 * finds `base_url`.
 */
export function didYouMean(word: string, candidates: Iterable<string>): string | undefined {
  if (word.length > LONGEST) return undefined
  const wanted = normalize(word)
  let best: string | undefined
  let bestDistance = editsFor(wanted.length) + 1
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - word.length) > bestDistance + 2) continue
    const edits = distance(wanted, normalize(candidate))
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

function normalize(name: string): string {
  return name.toLowerCase().replaceAll(/[-_]/g, '')
}
