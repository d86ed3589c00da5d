import { GwError } from '../../base/catalogue/wire.ts'
import { type JsonMember, JsonScanner } from '../../base/json/scanner.ts'
import { type Edit, extract, shifted, splice } from '../../base/splice.ts'
import type { AnswerFormat } from '../../schema/paths.ts'
import { AnswerScanner, MAX_ANSWER_DEPTH } from './answer-scanner.ts'
import type { FilterOptions } from './filter.ts'
import type { ServedName } from './served-name.ts'
import { storedId } from './stored-id.ts'

/** Limit for buffering a watched value. A longer one is neither a model name nor usage. */
const HOLD_VALUE_BYTES = 1_048_576
const NEWLINE = Buffer.from('\n')
const NOTHING = Buffer.alloc(0)

/** Members of the event that are replaced or read, and those of the objects in it. */
const WATCHED = new Set(['model', 'usage', 'error', 'type'])
const WATCHED_INSIDE = new Set(['model', 'usage', 'id'])
/** The objects in an event that may contain a model name, usage or an id. */
const CONTAINERS: Readonly<Record<AnswerFormat, ReadonlySet<string>>> = {
  chat: new Set(),
  messages: new Set(['message']),
  media: new Set(),
  responses: new Set(['response', 'item']),
}

export interface LongEventOptions extends Pick<FilterOptions, 'nameJson' | 'observer' | 'format'> {
  readonly served: () => ServedName
}

/**
 * An event that is too long to buffer: it passes in parts, and only a value that may be edited is held until its end. So
 * the name is restored at any position.
 */
export class LongEvent {
  /** The event is an error. */
  failed = false
  /** The `type` of the event as JSON; empty until it has arrived. */
  type = ''
  readonly #options: LongEventOptions
  readonly #scanner = new AnswerScanner()
  #seenMembers = 0
  #writtenBytes = 0
  /** The container that is open: its offset and its scanned members. */
  #container: { readonly start: number; readonly scanner: JsonScanner; seenMembers: number } | undefined
  #held: Buffer[] = []
  /** Offset in the event of the first byte held. */
  #heldFrom = 0
  #lengthBytes = 0
  #edits: Edit[] = []
  /** The data in the held bytes: pairs of offsets in the event. */
  #data: number[] = []
  #lineEnd: number | undefined

  constructor(options: LongEventOptions) {
    this.#options = options
  }

  /** The finish reason has arrived. */
  get hasFinishReason(): boolean {
    return this.#scanner.hasFinishReason
  }

  /**
   * @param data The data in `bytes`, as pairs of offsets.
   * @param continues The first pair continues the last line of the previous part.
   * @returns the bytes that may pass.
   * @throws {GwError} upstream_error if the event is an error too long to redact.
   */
  push(bytes: Buffer, data: readonly number[], continues: boolean): readonly Buffer[] {
    const base = this.#lengthBytes
    this.#held.push(bytes)
    this.#lengthBytes += bytes.length
    for (let pair = 0; pair < data.length; pair += 2) {
      const [start = 0, end = 0] = [data[pair], data[pair + 1]]
      if (this.#lineEnd !== undefined && !(continues && pair === 0)) this.#scan(NEWLINE, this.#lineEnd, 0, 1)
      this.#data.push(base + start, base + end)
      this.#scan(bytes, base + start, start, end)
      this.#lineEnd = base + end
    }
    const { writtenBytes } = this.#scanner
    // Long events of a response only repeat what earlier ones have said.
    const isText = this.#options.format !== 'responses'
    if (!this.failed) this.#options.observer.onText(isText ? writtenBytes - this.#writtenBytes : 0)
    this.#writtenBytes = writtenBytes
    return this.#release(this.#safeEnd())
  }

  /** The event has ended. @returns its held bytes. */
  end(): readonly Buffer[] {
    return this.#release(this.#lengthBytes)
  }

  #scan(bytes: Buffer, offset: number, from: number, to: number): void {
    const scanner = this.#scanner
    scanner.push(bytes, offset, from, to)
    const open = scanner.openMember
    for (; this.#seenMembers < scanner.members.length; this.#seenMembers++) {
      const member = scanner.members[this.#seenMembers]
      if (!member) continue
      if (this.#isContainer(member.name) && member.kind === 'object') {
        const end = Math.min(to, from + member.end - offset)
        this.#scanInside(member.name, member.start, bytes, offset, from, end)
      }
      this.#look(member, this.#options, member.name)
    }
    if (open && this.#isContainer(open.name)) this.#scanInside(open.name, open.start, bytes, offset, from, to)
    else this.#container = undefined
  }

  #isContainer(name: string): boolean {
    return CONTAINERS[this.#options.format].has(name)
  }

  /** Scans the container that begins at `start`, between two offsets of `bytes`. */
  #scanInside(name: string, start: number, bytes: Buffer, offset: number, from: number, to: number): void {
    if (this.#container?.start !== start)
      this.#container = { start, scanner: new JsonScanner(MAX_ANSWER_DEPTH), seenMembers: 0 }
    const container = this.#container
    const begin = Math.max(from, from + start - offset)
    if (begin < to) container.scanner.push(bytes, offset + begin - from, begin, to)
    const { members } = container.scanner
    for (; container.seenMembers < members.length; container.seenMembers++) {
      const member = members[container.seenMembers]
      if (member) this.#lookInside(member, this.#options, name)
    }
  }

  #lookInside(
    { name, start, end, kind }: JsonMember,
    { nameJson, observer, format }: LongEventOptions,
    container: string,
  ): void {
    if (start < this.#heldFrom) return
    if (name === 'model' && kind === 'string') this.#edits.push({ start, end, bytes: nameJson })
    else if (name === 'usage' && kind === 'object')
      observer.onMember(container === 'message' ? 'message.usage' : name, this.#textOf(start, end))
    else if (name === 'id' && kind === 'string' && format === 'responses') {
      const id = storedId(this.#textOf(start, end))
      if (id !== undefined) observer.onStoredId?.(container === 'item' ? 'item' : 'response', id)
    }
  }

  #look(member: JsonMember, { nameJson, observer, served }: LongEventOptions, name: string): void {
    const { start, end, kind } = member
    // It was too long to be held, so it is none of these.
    if (start < this.#heldFrom) return
    if (name === 'model' && kind === 'string') this.#edits.push({ start, end, bytes: nameJson })
    else if (name === 'usage' && kind === 'object') observer.onMember(name, this.#textOf(start, end))
    else if (name === 'type' && kind === 'string') this.type = this.#textOf(start, end).toString('latin1')
    else if (name === 'error' && (kind === 'object' || kind === 'string')) {
      this.failed ||= kind === 'object'
      const text = this.#extract(start, end).toString('latin1')
      this.#edits.push({ start, end, bytes: Buffer.from(served().restored(text, true), 'latin1') })
    }
  }

  /** Up to where bytes may pass: not into a value that may be edited. */
  #safeEnd(): number {
    if (this.#scanner.fault) return this.#lengthBytes
    const open = this.#scanner.openMember
    const inner = this.#container?.scanner.openMember
    let from = this.#lengthBytes
    if (open && WATCHED.has(open.name)) from = open.start
    else if (inner && WATCHED_INSIDE.has(inner.name)) from = inner.start
    if (this.#lengthBytes - from <= HOLD_VALUE_BYTES) return Math.max(from, this.#heldFrom)
    if (open?.name === 'error')
      throw new GwError('upstream_error', undefined, {
        reason: 'the upstream sent an error of more than 1 MiB inside its stream',
      })
    return this.#lengthBytes
  }

  #release(end: number): readonly Buffer[] {
    const from = this.#heldFrom
    if (end <= from) return []
    const passing = this.#edits.filter(edit => edit.end <= end)
    this.#edits = this.#edits.filter(edit => edit.end > end)
    const heldBytes = this.#lengthBytes - from
    const cut = { start: end - from, end: heldBytes, bytes: NOTHING }
    const passed = splice(this.#held, [...passing.map(edit => shifted(edit, from)), cut])
    this.#held = end === this.#lengthBytes ? [] : [extract(this.#held, end - from, heldBytes)]
    this.#heldFrom = end
    this.#data = this.#data.slice(firstBehind(this.#data, end))
    return passed
  }

  #extract(start: number, end: number): Buffer {
    return extract(this.#held, start - this.#heldFrom, end - this.#heldFrom)
  }

  /** The text of a value, which may span several data lines. */
  #textOf(start: number, end: number): Buffer {
    const parts: Buffer[] = []
    for (let pair = 0; pair < this.#data.length; pair += 2) {
      const from = Math.max(this.#data[pair] as number, start)
      const to = Math.min(this.#data[pair + 1] as number, end)
      if (from < to) parts.push(this.#extract(from, to))
    }
    return Buffer.concat(parts)
  }
}

/** The index of the first pair that extends beyond `end`. */
function firstBehind(data: readonly number[], end: number): number {
  let pair = 0
  while (pair < data.length && (data[pair + 1] as number) <= end) pair += 2
  return pair
}
