import type { Place } from './types.ts'

/** The text of one file, with the parts that no message may show. */
export class Source {
  /** The name as given on the command line. */
  readonly file: string
  readonly text: string
  /** The position among the files of a tree; problems are printed in this order. */
  readonly order: number
  /** Whether YAML could not parse it, so that secrets are found only by guessing. */
  unread = false
  readonly #lineStarts: readonly number[]
  #masks: [start: number, end: number][] = []
  #masksSorted = true

  constructor(file: string, text: string, order: number) {
    this.file = file
    this.text = text
    this.order = order
    this.#lineStarts = lineStartsOf(text)
  }

  /** Line and column from 1; a column is a UTF-16 unit, as in editors. */
  placeAt(offset: number): Place {
    const line = lastAtMost(this.#lineStarts, offset)
    return { file: this.file, line: line + 1, column: offset - (this.#lineStarts[line] ?? 0) + 1 }
  }

  /** Start and end of line `line` (from 1) without its line break; `undefined` past the end. */
  lineRange(line: number): readonly [start: number, end: number] | undefined {
    const start = this.#lineStarts[line - 1]
    if (start === undefined) return undefined
    const next = this.#lineStarts[line]
    if (next === undefined) return [start, this.text.length]
    return [start, this.text[next - 2] === '\r' ? next - 2 : next - 1]
  }

  /** Redacts this part of the text. */
  redact(start: number, end: number): void {
    this.#masks.push([start, end])
    this.#masksSorted = false
  }

  /** The redacted parts between `start` and `end`, sorted and without overlaps. */
  redactedWithin(start: number, end: number): readonly (readonly [start: number, end: number])[] {
    if (!this.#masksSorted) {
      this.#masks = mergeRanges(this.#masks)
      this.#masksSorted = true
    }
    const touching: [number, number][] = []
    for (let at = firstEndingAfter(this.#masks, start); at < this.#masks.length; at++) {
      const mask = this.#masks[at]
      if (mask === undefined || mask[0] >= end) break
      touching.push([Math.max(mask[0], start), Math.min(mask[1], end)])
    }
    return touching
  }
}

/** A part of a file, by offsets into its text. */
export interface Span {
  readonly source: Source
  readonly start: number
  readonly end: number
}

/** Sorts ranges and merges those that touch. */
export function mergeRanges(ranges: readonly (readonly [number, number])[]): [number, number][] {
  const merged: [number, number][] = []
  for (const [start, end] of ranges.toSorted((a, b) => a[0] - b[0])) {
    const last = merged.at(-1)
    if (last && start <= last[1]) last[1] = Math.max(last[1], end)
    else merged.push([start, end])
  }
  return merged
}

function lineStartsOf(text: string): number[] {
  const starts = [0]
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return starts
}

function lastAtMost(sorted: readonly number[], value: number): number {
  let low = 0
  let high = sorted.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((sorted[middle] ?? 0) <= value) low = middle
    else high = middle - 1
  }
  return low
}

function firstEndingAfter(ranges: readonly (readonly [number, number])[], offset: number): number {
  let low = 0
  let high = ranges.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((ranges[middle]?.[1] ?? 0) <= offset) low = middle + 1
    else high = middle
  }
  return low
}
