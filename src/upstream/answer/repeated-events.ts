import type { JsonMember } from '../../base/json/scanner.ts'
import type { Edit } from '../../base/splice.ts'
import type { SseEvent } from '../../base/sse.ts'
import type { AnswerFormat } from '../../schema/paths.ts'
import { type AnswerScanner, countedStrings } from './answer-scanner.ts'
import { EventPattern, MAX_PATTERN_BYTES } from './event-pattern.ts'

/** To learn a pattern that nothing matches must not become the rule. */
const MAX_VAIN_PATTERNS = 4
const LF = 0x0a
/** The first byte of a byte order mark, which is none before a later event. */
const BOM_START = 0xef

/**
 * Remembers the last event of a stream, to recognize others like it ({@link EventPattern}). Only events of `chat` and
 * `messages` that carry nothing but text: no usage, no error, no end of any kind.
 */
export class RepeatedEvents {
  readonly #format: AnswerFormat
  #pattern: EventPattern | undefined
  /** Patterns that have matched nothing yet, less those that have. */
  #vain = 0

  constructor(format: AnswerFormat) {
    this.#format = format
  }

  /** @param bytes Nothing of an event was read before them. @returns undefined if one of their events is of another kind. */
  match(bytes: Buffer): EventPattern | undefined {
    const pattern = this.#pattern
    if (!pattern?.match(bytes)) return undefined
    this.#vain = 0
    return pattern
  }

  /**
   * @param scanner Has read the event.
   * @param edits Of this event.
   */
  learn(bytes: Buffer, event: SseEvent, scanner: AnswerScanner, edits: readonly Edit[]): void {
    if (this.#vain === MAX_VAIN_PATTERNS || !this.#isPlain(bytes, event, scanner)) return
    this.#vain++
    const { start, end, data } = event
    const [jsonStart = 0, jsonEnd = 0] = data
    const countsText = this.#counting(bytes, event, scanner)
    this.#pattern = new EventPattern(bytes.subarray(start, end), {
      jsonStart: jsonStart - start,
      jsonEnd: jsonEnd - start,
      edits: edits.map(edit => ({ start: edit.start - start, end: edit.end - start, bytes: edit.bytes })),
      writtenBytes: scanner.writtenBytes,
      countsText: offset => countsText(offset + start),
    })
  }

  /** Only text and the model name are to be read from the event, and the next one begins behind it. */
  #isPlain(bytes: Buffer, { start, end, data, part }: SseEvent, scanner: AnswerScanner): boolean {
    if (part !== 'whole' || data.length !== 2 || end - start > MAX_PATTERN_BYTES) return false
    if (bytes[start] === BOM_START || bytes[end - 1] !== LF) return false
    return scanner.done && this.#hasOnlyText(scanner.members)
  }

  #hasOnlyText(members: readonly JsonMember[]): boolean {
    if (members.some(({ name, kind }) => kind === 'object' && (name === 'usage' || name === 'error')))
      return false
    if (this.#format === 'chat') return true
    const deltas = members.filter(({ name, kind }) => name === 'delta' && kind === 'object')
    return (
      this.#format === 'messages' && deltas.length === 1 && !members.some(({ name }) => name === 'message')
    )
  }

  #counting(
    bytes: Buffer,
    { data }: SseEvent,
    { members }: AnswerScanner,
  ): (end: number) => boolean | undefined {
    const [jsonStart = 0, jsonEnd = 0] = data
    const counted = countedStrings(bytes, jsonStart, jsonEnd)
    const ofReasoning = [...counted.values()].filter(kind => kind === 'reasoning').length
    const fixedNames = this.#format === 'chat' ? ['model'] : ['model', 'type']
    const atRoot = new Map(members.map(({ name, end }) => [end - 1, fixedNames.includes(name)]))
    return end => {
      const kind = counted.get(end)
      if (kind === 'finish_reason' || atRoot.get(end)) return undefined
      // Reasoning under two names counts once, whichever is longer.
      if (kind === 'reasoning') return ofReasoning === 1 ? true : undefined
      return kind === 'text'
    }
  }
}
