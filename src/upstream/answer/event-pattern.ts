import type { ByteSource } from '../../base/byte-source.ts'
import { BACKSLASH, COLON, isEscape, isSpace, QUOTE, SPACE } from '../../base/json/grammar.ts'
import { type Edit, shifted, splice } from '../../base/splice.ts'

/** Longer events are scanned faster than they are compared. */
export const MAX_PATTERN_BYTES = 4_096
/** An event with more strings is compared as a whole. */
const MAX_STRINGS = 32
const DIFFERS = -1
const MATCHES = -2

/** The text of a string in the event, between its quotes. */
interface StringSpan {
  readonly start: number
  readonly end: number
  /** It counts as text of the model. */
  readonly isCounted: boolean
}

export interface PatternOptions {
  /** Offsets of the JSON text. */
  readonly jsonStart: number
  readonly jsonEnd: number
  readonly edits: readonly Edit[]
  /** Bytes of text that the model has written in the event. */
  readonly writtenBytes: number
  /**
   * Whether the string that ends at an offset counts as text; undefined if another text could change what is done with
   * the event.
   */
  readonly countsText: (end: number) => boolean | undefined
}

/**
 * Recognizes events that equal an earlier one but for the text of its strings, as most events of a stream do, and makes
 * of them what was made of that one: the same edits at the same places.
 *
 *     earlier:  data: {"id":"7","model":"a","delta":{"content":" Hello"}}⏎⏎
 *     fixed:    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^        ^^^^^^
 *     text:                                                  ^ any ^
 *
 * Whatever reads an event byte by byte is in the same state after the same bytes. After one valid text of a string
 * instead of another it is so, too: so what it finds behind is the same, and only its offsets differ. Two texts that can
 * matter are excluded by the caller, who has read the earlier event.
 *
 * A string is fixed until an event differs in it.
 */
export class EventPattern implements ByteSource {
  length = 0
  /** Bytes of text of the model in the matched events. */
  writtenBytes = 0
  readonly #event: Buffer
  readonly #edits: readonly Edit[]
  /** Strings whose text may differ, but has not yet. */
  readonly #fixed: StringSpan[]
  /** Strings whose text differs, in order. */
  #open: StringSpan[] = []
  /** The bytes to write before, between and after the open strings. */
  #kept: Buffer[] = []
  #keptBytes = 0
  /** Bytes of text outside the open strings. */
  #fixedBytes: number
  /** The matched events. */
  #source: Buffer
  #events = 0
  /** The texts of the open strings in the matched events: pairs of offsets. */
  #texts: number[] = []

  /** @param event Its bytes, which are copied. */
  constructor(event: Buffer, { jsonStart, jsonEnd, edits, writtenBytes, countsText }: PatternOptions) {
    this.#event = Buffer.from(event)
    this.#source = this.#event
    this.#edits = edits
    this.#fixed = spansIn(event, jsonStart, jsonEnd, countsText).filter(
      ({ start, end }) => !edits.some(edit => edit.start <= end && start <= edit.end),
    )
    this.#fixedBytes = writtenBytes
    this.#split()
  }

  /** @returns whether `bytes` are such events, and nothing else. Then this is the source of what to write for them. */
  match(bytes: Buffer): boolean {
    for (;;) {
      const differsAt = this.#matchAll(bytes)
      if (differsAt === MATCHES) return true
      if (differsAt < 0 || !this.#openStringAt(differsAt)) return false
    }
  }

  copyTo(target: Buffer, from: number): void {
    const texts = this.#texts
    const source = this.#source
    const kept = this.#kept
    const last = kept.length - 1
    let to = from
    let next = 0
    for (let event = 0; event < this.#events; event++) {
      for (let index = 0; index < last; index++) {
        to = copyBytes(kept[index] as Buffer, target, to)
        const end = texts[next + 1] as number
        for (let at = texts[next] as number; at < end; at++) target[to++] = source[at] as number
        next += 2
      }
      to = copyBytes(kept[last] as Buffer, target, to)
    }
  }

  /** @returns `MATCHES`, or the offset in the earlier event at which one differs, or `DIFFERS`. */
  #matchAll(bytes: Buffer): number {
    const { length } = bytes
    const event = this.#event
    const open = this.#open
    const texts = this.#texts
    texts.length = 0
    let writtenBytes = 0
    let textBytes = 0
    let events = 0
    let at = 0
    while (at < length) {
      let fixed = 0
      for (let index = 0; index <= open.length; index++) {
        const span = open[index]
        const fixedEnd = span ? span.start : event.length
        const comparedEnd = Math.min(fixedEnd, fixed + length - at)
        for (; fixed < comparedEnd; fixed++, at++) if (bytes[at] !== event[fixed]) return fixed
        if (fixed < fixedEnd) return DIFFERS
        if (!span) break
        const start = at
        let escapes = 0
        for (; at < length; at++) {
          const byte = bytes[at] as number
          if (byte === QUOTE || byte < SPACE) break
          if (byte !== BACKSLASH) continue
          if (++at === length || !isEscape(bytes[at] as number)) return DIFFERS
          escapes++
        }
        if (bytes[at] !== QUOTE || at >= length) return DIFFERS
        texts.push(start, at)
        textBytes += at - start
        if (span.isCounted) writtenBytes += at - start - escapes
        fixed = span.end
      }
      events++
    }
    if (events === 0) return DIFFERS
    this.#source = bytes
    this.#events = events
    this.writtenBytes = writtenBytes + events * this.#fixedBytes
    this.length = textBytes + events * this.#keptBytes
    return MATCHES
  }

  /** Allows another text for the string at an offset. @returns false if there is none, or it matters. */
  #openStringAt(offset: number): boolean {
    const index = this.#fixed.findIndex(({ start, end }) => start <= offset && offset <= end)
    const [span] = index < 0 ? [] : this.#fixed.splice(index, 1)
    if (!span) return false
    this.#open = [...this.#open, span].sort((a, b) => a.start - b.start)
    if (span.isCounted) this.#fixedBytes -= decodedLength(this.#event, span)
    this.#split()
    return true
  }

  #split(): void {
    const starts = [0, ...this.#open.map(({ end }) => end)]
    const ends = [...this.#open.map(({ start }) => start), this.#event.length]
    this.#kept = starts.map((start, index) => {
      const end = ends[index] as number
      const own = this.#edits.filter(edit => edit.start >= start && edit.end <= end)
      return Buffer.concat(
        splice(
          [this.#event.subarray(start, end)],
          own.map(edit => shifted(edit, start)),
        ),
      )
    })
    this.#keptBytes = this.#kept.reduce((sum, { length }) => sum + length, 0)
  }
}

function copyBytes(source: Buffer, target: Buffer, at: number): number {
  target.set(source, at)
  return at + source.length
}

/** The strings of a valid JSON text that are values, without those whose text matters. */
function spansIn(
  bytes: Buffer,
  from: number,
  to: number,
  countsText: PatternOptions['countsText'],
): StringSpan[] {
  const spans: StringSpan[] = []
  for (let at = from; at < to; at++) {
    if (bytes[at] !== QUOTE) continue
    const start = at + 1
    for (at = start; at < to && bytes[at] !== QUOTE; at++) if (bytes[at] === BACKSLASH) at++
    const end = at
    let next = end + 1
    while (next < to && isSpace(bytes[next] as number)) next++
    const isName = next < to && bytes[next] === COLON
    const isCounted = isName ? undefined : countsText(end)
    if (isCounted !== undefined && hasShortEscapes(bytes, start, end)) spans.push({ start, end, isCounted })
    if (spans.length === MAX_STRINGS) break
  }
  return spans
}

/** Has no `\uXXXX`, whose length as text depends on its digits. */
function hasShortEscapes(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++)
    if (bytes[at] === BACKSLASH && !isEscape(bytes[++at] as number)) return false
  return true
}

/** The length of a string as text; its escapes have two bytes. */
function decodedLength(bytes: Buffer, { start, end }: StringSpan): number {
  let length = end - start
  for (let at = start; at < end; at++) {
    if (bytes[at] !== BACKSLASH) continue
    length--
    at++
  }
  return length
}
