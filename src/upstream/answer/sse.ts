import type { ByteSource } from '../../base/byte-source.ts'
import { type JsonMember, JsonScanner } from '../../base/json/scanner.ts'
import { type Edit, shifted, splice } from '../../base/splice.ts'
import { type SseEvent, type SseRun, SseSplitter } from '../../base/sse.ts'
import { AnswerScanner, MAX_ANSWER_DEPTH } from './answer-scanner.ts'
import type { AnswerFilter, FilterOptions } from './filter.ts'
import { LongEvent } from './long-event.ts'
import { RepeatedEvents } from './repeated-events.ts'
import { ServedName } from './served-name.ts'
import { storedId } from './stored-id.ts'

/** A longer event passes in parts. */
const HOLD_EVENT_BYTES = 1_048_576
const DONE = Buffer.from('[DONE]')
const MESSAGE_STOP = Buffer.from('"message_stop"')
/** Every event of a response begins so, but for its errors. */
const RESPONSE_PREFIX = '"response.'
const FAILED = '"response.failed"'
/** The types of events that end an answer. */
const ENDS: Readonly<Record<'responses' | 'media', ReadonlySet<string>>> = {
  responses: new Set(['"response.completed"', '"response.incomplete"', FAILED]),
  media: new Set([
    '"image_generation.completed"',
    '"image_edit.completed"',
    '"speech.audio.done"',
    '"transcript.text.done"',
  ]),
}
const QUOTES_BYTES = 2
const NEWLINE = Buffer.from('\n')
const NOTHING = Buffer.alloc(0)
const LF = 0x0a
const CR = 0x0d
const BACKSLASH = 0x5c
/** Ends any open event; the first LF may belong to a CR before it. */
const EVENT_END = Buffer.from('\n\n\n')

/** Whether an event is the last one, or an error, after which there may be no other. */
type Ending = 'last' | 'error' | undefined

/** Filters an event stream. One read of the upstream becomes at most one write. */
export class SseAnswer implements AnswerFilter {
  readonly #options: FilterOptions
  readonly #splitter = new SseSplitter(HOLD_EVENT_BYTES)
  readonly #scanner = new AnswerScanner()
  readonly #repeats: RepeatedEvents
  #errorSeen = false
  #finishSeen = false
  /** A chat has its finish reason and its usage, and no more text: it is complete without `[DONE]`, which some servers omit. */
  #usageSeen = false
  #withheld: Buffer[] | undefined
  #released = false
  /** Set while an event passes in parts. */
  #long: LongEvent | undefined
  #served: ServedName | undefined
  /** The last event was removed and ended with CR: an LF that follows belongs to it. */
  #removesLineFeed = false
  /** The last `sequence_number`. */
  #sequence = -1
  /** Events that ended one of several answers. */
  #ended = 0

  constructor(options: FilterOptions) {
    this.#options = options
    this.#repeats = new RepeatedEvents(options.format)
  }

  get atLast(): boolean {
    return this.#withheld !== undefined
  }

  get failed(): boolean {
    return this.#errorSeen
  }

  get finished(): boolean {
    return this.#finishSeen
  }

  get insideEvent(): boolean {
    return this.#splitter.insideEvent
  }

  get nextSequence(): number | undefined {
    return this.#options.format === 'responses' ? this.#sequence + 1 : undefined
  }

  repeated(bytes: Buffer): ByteSource | undefined {
    if (this.#withheld || this.#removesLineFeed || this.#usageSeen) return undefined
    if (!this.#splitter.betweenEvents) return undefined
    const repeated = this.#repeats.match(bytes)
    if (repeated) this.#options.observer.onText(repeated.writtenBytes)
    return repeated
  }

  push(piece: Buffer): readonly Buffer[] {
    const run = this.#splitter.push(piece)
    const { bytes, events } = run
    if (this.#long || events.at(-1)?.part === 'first') return this.#pushParts(run)
    const edits: Edit[] = []
    if (run.end > 0 && this.#removesLineFeed) {
      this.#removesLineFeed = false
      if (bytes[0] === LF) edits.push({ start: 0, end: 1, bytes: NOTHING })
    }
    let lastFrom: number | undefined
    for (const event of events) {
      const ending = this.#look(bytes, event, edits)
      if (ending === 'last') lastFrom ??= event.start
      else if (ending === 'error') this.#errorSeen = true
    }
    return this.#passed(bytes, run.end, edits, lastFrom)
  }

  /** Like {@link push}, if an event is too long to buffer: the events before and after its part are whole. */
  #pushParts({ bytes, events, end }: SseRun): readonly Buffer[] {
    const passed: Buffer[] = []
    let edits: Edit[] = []
    let lastFrom: number | undefined
    let from = 0
    const passUpTo = (to: number): void => {
      const last = lastFrom === undefined ? undefined : lastFrom - from
      const own = edits.map(edit => shifted(edit, from))
      passed.push(...this.#passed(bytes.subarray(from), to - from, own, last))
      edits = []
      lastFrom = undefined
      from = to
    }
    for (const event of events) {
      if (event.part === 'whole') {
        const ending = this.#look(bytes, event, edits)
        if (ending === 'last') lastFrom ??= event.start
        else if (ending === 'error') this.#errorSeen = true
        continue
      }
      passUpTo(event.start)
      const part = this.#longPart(bytes, event)
      if (this.#withheld && !this.#released) this.#withheld.push(...part)
      else passed.push(...part)
      from = event.end
    }
    passUpTo(end)
    return passed
  }

  /** The bytes up to `end` that may be written now: the last event and the rest wait for the bill. */
  #passed(all: Buffer, end: number, edits: readonly Edit[], lastFrom: number | undefined): readonly Buffer[] {
    if (end === 0) return []
    const bytes = end === all.length ? all : all.subarray(0, end)
    if (this.#withheld && !this.#released) {
      this.#withheld.push(...splice([bytes], edits))
      return []
    }
    if (lastFrom === undefined || this.#released) return splice([bytes], edits)
    const cut = lastFrom
    const behind = edits.filter(edit => edit.start >= cut).map(edit => shifted(edit, cut))
    this.#withheld = splice([bytes.subarray(cut)], behind)
    return splice(
      [bytes.subarray(0, cut)],
      edits.filter(edit => edit.start < cut),
    )
  }

  end(): boolean {
    const rest = this.#splitter.end()
    let complete = this.atLast || this.#errorSeen || (this.#usageSeen && !rest)
    this.#withheld ??= []
    // An incomplete event is dropped: it may end within a model name.
    if (!rest || this.#long) return complete
    // The last event may lack the empty line after it: clients read it anyway.
    const { bytes, events } = new SseSplitter(Number.POSITIVE_INFINITY).push(Buffer.concat([rest, EVENT_END]))
    const edits: Edit[] = []
    for (const event of events) {
      const ending = this.#look(bytes, event, edits)
      if (ending === 'error') this.#errorSeen = true
      complete ||= ending !== undefined
    }
    this.#withheld.push(...splice([bytes.subarray(0, rest.length)], edits))
    return complete
  }

  takeLast(): readonly Buffer[] {
    this.#released = true
    const last = this.#withheld ?? []
    this.#withheld = []
    return last
  }

  /** Filters a part of an event that is too long to buffer. @throws {GwError} upstream_error, see {@link LongEvent} */
  #longPart(bytes: Buffer, { start, end, data, part, continues }: SseEvent): readonly Buffer[] {
    const { nameJson, observer, format } = this.#options
    this.#long ??= new LongEvent({ nameJson, observer, format, served: () => this.#servedName() })
    const long = this.#long
    const own = data.map(offset => offset - start)
    const passed = long.push(bytes.subarray(start, end), own, continues)
    if (part !== 'last') return passed
    this.#errorSeen ||= long.failed
    this.#finishSeen ||= long.hasFinishReason
    const rest = [...passed, ...long.end()]
    this.#long = undefined
    if (format === 'chat' || format === 'messages' || !ENDS[format].has(long.type)) return rest
    if (format === 'media' && !this.#isLastAnswer()) return rest
    // Clients read an event when its end has arrived: what has passed of it tells them nothing yet.
    this.#errorSeen ||= long.type === FAILED
    this.#withheld ??= []
    return rest
  }

  #servedName(): ServedName {
    const { servedModel, nameJson } = this.#options
    return (this.#served ??= new ServedName(servedModel, nameJson))
  }

  /** Collects the edits of an event, passes its usage to the observer, and returns whether it ends the stream. */
  #look(bytes: Buffer, event: SseEvent, edits: Edit[]): Ending {
    const { data } = event
    if (data.length === 0) return undefined
    const [start = 0, end = 0] = data
    if (data.length === 2 && isText(DONE, bytes, start, end)) return 'last'
    const scanner = this.#scanner
    scan(scanner, bytes, data, 0, bytes.length)
    const own = edits.length
    const ending = this.#lookFor(bytes, event, scanner, edits)
    if (ending === 'error') {
      edits.length = own
      this.#lookError(bytes, scanner.members, edits)
    }
    this.#finishSeen ||= scanner.hasFinishReason
    if (ending === undefined && event.end === bytes.length)
      this.#repeats.learn(bytes, event, scanner, edits.slice(own))
    // Retain no memory of an event until the next one.
    scanner.reset()
    return ending
  }

  #lookFor(bytes: Buffer, event: SseEvent, scanner: AnswerScanner, edits: Edit[]): Ending {
    switch (this.#options.format) {
      case 'chat':
        return this.#lookOpenai(bytes, event, scanner.members, edits)
      case 'messages':
        return this.#lookAnthropic(bytes, event.data, scanner, edits)
      case 'responses':
        return this.#lookResponse(bytes, event.data, scanner, edits)
      case 'media':
        return this.#lookMedia(bytes, event.data, scanner, edits)
    }
  }

  /** An event of an image, of speech or of a transcription: its usage is in the last one. */
  #lookMedia(bytes: Buffer, data: readonly number[], scanner: AnswerScanner, edits: Edit[]): Ending {
    const { observer } = this.#options
    let ending: Ending
    for (const member of scanner.members) {
      const { name, kind, start, end } = member
      if (name === 'model' && kind === 'string') edits.push(this.#named(member))
      else if (name === 'usage' && kind === 'object') observer.onMember(name, textOf(bytes, data, member))
      else if (name === 'delta' && kind === 'string') observer.onText(textBytes(bytes, start, end))
      else if (name === 'error' && kind === 'object') ending = 'error'
      else if (name === 'type' && ENDS.media.has(textOf(bytes, data, member).toString('latin1'))) {
        ending = scanner.done && this.#isLastAnswer() ? 'last' : ending
      }
    }
    observer.onText(0)
    return ending
  }

  /** Each image of several ends with an event of its own. */
  #isLastAnswer(): boolean {
    this.#ended++
    return this.#ended === this.#options.answers
  }

  #lookOpenai(bytes: Buffer, event: SseEvent, members: readonly JsonMember[], edits: Edit[]): Ending {
    const { hideUsage, observer } = this.#options
    let noChoices = false
    let hasChoices = false
    let isErrorText = false
    let model: JsonMember | undefined
    let usage: JsonMember | undefined
    let ending: Ending
    for (const member of members) {
      if (member.name === 'model' && member.kind === 'string') model = member
      else if (member.name === 'usage') usage = member
      else if (member.name === 'choices') {
        hasChoices = true
        noChoices = isEmptyArray(bytes, event.data, member)
      } else if (member.name === 'error' && member.kind === 'object') ending = 'error'
      else if (member.name === 'error' && member.kind === 'string') isErrorText = true
    }
    if (isErrorText && !hasChoices) ending = 'error'
    this.#lookFinished(usage?.kind === 'object', hasChoices && !noChoices)
    // The text of an error was not written by the model.
    if (ending === undefined) observer.onText(this.#scanner.writtenBytes)
    if (usage?.kind === 'object') {
      observer.onMember('usage', textOf(bytes, event.data, usage))
      if (hideUsage && noChoices) {
        const { end } = event
        edits.push({ start: Math.max(event.start, edits.at(-1)?.end ?? 0), end, bytes: NOTHING })
        this.#removesLineFeed = end === bytes.length && bytes[end - 1] === CR
        return ending
      }
    }
    const hidden = usage?.kind === 'null' && hideUsage ? withoutMember(members, usage) : undefined
    if (hidden && model && hidden.start < model.start) edits.push(hidden, this.#named(model))
    else {
      if (model) edits.push(this.#named(model))
      if (hidden) edits.push(hidden)
    }
    return ending
  }

  /** Usage in an event with choices may be an interim one, and that of one of several choices. */
  #lookFinished(hasUsage: boolean, hasChoices: boolean): void {
    if (hasChoices) this.#usageSeen = hasUsage && this.#scanner.hasFinishReason && this.#options.answers === 1
    else this.#usageSeen ||= hasUsage && this.#finishSeen
  }

  #lookAnthropic(bytes: Buffer, data: readonly number[], scanner: AnswerScanner, edits: Edit[]): Ending {
    const { observer } = this.#options
    let ending: Ending
    for (const member of scanner.members) {
      const { name, kind } = member
      if (name === 'message' && kind === 'object') this.#lookMessage(bytes, data, member, edits)
      else if (name === 'delta' && kind === 'object') observer.onText(scanner.writtenBytes)
      else if (name === 'model' && kind === 'string') edits.push(this.#named(member))
      else if (name === 'usage' && kind === 'object') observer.onMember(name, textOf(bytes, data, member))
      else if (name === 'error' && kind === 'object') ending = 'error'
      else if (name === 'type' && isText(MESSAGE_STOP, bytes, member.start, member.end)) {
        ending = scanner.done ? 'last' : undefined
      }
    }
    return ending
  }

  /** The message in `message_start`: contains the model name and the initial usage. */
  #lookMessage(bytes: Buffer, data: readonly number[], message: JsonMember, edits: Edit[]): void {
    for (const member of membersOf(bytes, data, message)) {
      if (member.name === 'model' && member.kind === 'string') edits.push(this.#named(member))
      else if (member.name === 'usage' && member.kind === 'object') {
        this.#options.observer.onMember('message.usage', textOf(bytes, data, member))
      }
    }
    this.#options.observer.onText(0)
  }

  /**
   * An event of a response. The text of the model is in `delta`; later events repeat it. The last event has the whole
   * response with its usage; one that failed may have none.
   */
  #lookResponse(bytes: Buffer, data: readonly number[], scanner: AnswerScanner, edits: Edit[]): Ending {
    const { observer } = this.#options
    const { members, done } = scanner
    const type = members.findLast(({ name }) => name === 'type')
    const event = type?.kind === 'string' ? textOf(bytes, data, type).toString('latin1') : ''
    let ending: Ending
    for (const member of members) {
      const { name, kind, start, end } = member
      if (name === 'response' && kind === 'object') this.#lookInside(bytes, data, member, event, edits)
      else if (name === 'model' && kind === 'string') edits.push(this.#named(member))
      else if (name === 'delta' && kind === 'string') observer.onText(textBytes(bytes, start, end))
      else if (name === 'item' && kind === 'object') {
        observer.onText(0)
        for (const inner of membersOf(bytes, data, member)) this.#notifyId('item', bytes, data, inner)
      } else if (name === 'sequence_number' && kind === 'number')
        this.#sequence = Number(textOf(bytes, data, member).toString('latin1'))
      else if (name === 'error' && kind === 'object') ending = 'error'
    }
    if (event === '"error"') return 'error'
    if (ENDS.responses.has(event) && done) {
      this.#errorSeen ||= event === FAILED
      return 'last'
    }
    return event.startsWith(RESPONSE_PREFIX) ? undefined : ending
  }

  /** The response in an event: its name, its usage, its id, and the ids of its items. */
  #lookInside(
    bytes: Buffer,
    data: readonly number[],
    response: JsonMember,
    event: string,
    edits: Edit[],
  ): void {
    for (const member of membersOf(bytes, data, response)) {
      const { name, kind } = member
      if (name === 'model' && kind === 'string') edits.push(this.#named(member))
      else if (name === 'usage' && kind === 'object')
        this.#options.observer.onMember(name, textOf(bytes, data, member))
      else if (name === 'error' && event === FAILED) edits.push(this.#restored(bytes, member))
      else this.#notifyId('response', bytes, data, member)
    }
  }

  #notifyId(of: 'response' | 'item', bytes: Buffer, data: readonly number[], member: JsonMember): void {
    if (member.name !== 'id' || member.kind !== 'string') return
    const id = storedId(textOf(bytes, data, member))
    if (id !== undefined) this.#options.observer.onStoredId?.(of, id)
  }

  #restored(bytes: Buffer, { start, end }: JsonMember): Edit {
    const text = bytes.toString('latin1', start, end)
    return { start, end, bytes: Buffer.from(this.#servedName().restored(text, true), 'latin1') }
  }

  /** Restores the model name in an error's message, and sets the gateway's request id in Anthropic's form. */
  #lookError(bytes: Buffer, members: readonly JsonMember[], edits: Edit[]): void {
    const { format, requestId } = this.#options
    for (const member of members) {
      const { name, kind, start, end } = member
      if (name === 'model' && kind === 'string') edits.push(this.#named(member))
      else if (name === 'request_id' && format === 'messages')
        edits.push({ start, end, bytes: Buffer.from(JSON.stringify(requestId)) })
      else if (name === 'error' || (name === 'message' && format === 'responses'))
        edits.push(this.#restored(bytes, member))
    }
  }

  #named(model: JsonMember): Edit {
    return { start: model.start, end: model.end, bytes: this.#options.nameJson }
  }
}

/** The length of a string as text, without its quotes and escapes. */
function textBytes(bytes: Buffer, start: number, end: number): number {
  const text = bytes.subarray(start, end)
  return text.includes(BACKSLASH)
    ? Buffer.byteLength(JSON.parse(text.toString()) as string)
    : text.length - QUOTES_BYTES
}

function isText(text: Buffer, bytes: Buffer, start: number, end: number): boolean {
  return end - start === text.length && text.compare(bytes, start, end) === 0
}

/** Passes the data between two offsets to `scanner`; data lines are joined by newlines. */
function scan(scanner: JsonScanner, bytes: Buffer, data: readonly number[], from: number, to: number): void {
  let joinAt: number | undefined
  for (let pair = 0; pair < data.length; pair += 2) {
    const start = Math.max(data[pair] as number, from)
    const end = Math.min(data[pair + 1] as number, to)
    if (start > end) continue
    // The newline has the offset of the end of the previous line, so that a number that ends there gets the right end.
    if (joinAt !== undefined) scanner.push(NEWLINE, joinAt)
    joinAt = end
    scanner.push(bytes, start, start, end)
  }
}

function membersOf(bytes: Buffer, data: readonly number[], object: JsonMember): readonly JsonMember[] {
  const scanner = new JsonScanner(MAX_ANSWER_DEPTH)
  scan(scanner, bytes, data, object.start, object.end)
  return scanner.members
}

/** The text of a value, which may span several data lines. */
function textOf(bytes: Buffer, data: readonly number[], { start, end }: JsonMember): Buffer {
  if (data.length === 2) return bytes.subarray(start, end)
  const parts: Buffer[] = []
  for (let pair = 0; pair < data.length; pair += 2) {
    const from = Math.max(data[pair] as number, start)
    const to = Math.min(data[pair + 1] as number, end)
    if (from < to) parts.push(bytes.subarray(from, to))
  }
  return Buffer.concat(parts)
}

function isEmptyArray(bytes: Buffer, data: readonly number[], member: JsonMember): boolean {
  if (member.kind !== 'array') return false
  const text = textOf(bytes, data, member)
  return text.toString('latin1', 1, text.length - 1).trim() === ''
}

/** Removes a member together with one adjacent comma. */
function withoutMember(members: readonly JsonMember[], member: JsonMember): Edit {
  const at = members.indexOf(member)
  const before = members[at - 1]
  if (before) return { start: before.end, end: member.end, bytes: NOTHING }
  const after = members[at + 1]
  return { start: member.nameStart, end: after ? after.nameStart : member.end, bytes: NOTHING }
}
