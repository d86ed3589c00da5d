import { type JsonMember, JsonScanner } from '../../base/json/scanner.ts'
import { type Edit, splice } from '../../base/splice.ts'
import { type SseEvent, SseSplitter } from '../../base/sse.ts'
import type { AnswerFilter, FilterOptions } from './filter.ts'

/** An event that is longer passes in parts; its name is still restored where it stands in the first. */
const HOLD_EVENT_BYTES = 1_048_576
const DONE = Buffer.from('[DONE]')
const MESSAGE_STOP = Buffer.from('"message_stop"')
const NEWLINE = Buffer.from('\n')
const NOTHING = Buffer.alloc(0)
/** `data: [DONE]` at the very end, without the empty line that should follow it. */
const CUT_DONE = /(?:^|[\r\n])data: ?\[DONE\]\r?\n?$/

/** Whether an event is the last one, or tells of an error, after which none need come. */
type Ending = 'last' | 'error' | undefined

/** An answer that is a stream of events. One read of the upstream becomes at most one write. */
export class SseAnswer implements AnswerFilter {
  readonly #options: FilterOptions
  readonly #splitter = new SseSplitter(HOLD_EVENT_BYTES)
  readonly #scanner = new JsonScanner()
  #errorSeen = false
  #withheld: Buffer[] | undefined
  #released = false

  constructor(options: FilterOptions) {
    this.#options = options
  }

  get atLast(): boolean {
    return this.#withheld !== undefined
  }

  push(piece: Buffer): readonly Buffer[] {
    this.#options.observer.onBytes(piece.length)
    const run = this.#splitter.push(piece)
    const edits: Edit[] = []
    let lastFrom: number | undefined
    for (const event of run.events) {
      const ending = this.#look(run.bytes, event, edits)
      if (ending === 'last') lastFrom ??= event.start
      else if (ending === 'error') this.#errorSeen = true
    }
    const bytes = run.bytes.subarray(0, run.end)
    if (bytes.length === 0) return []
    if (this.#withheld && !this.#released) {
      this.#withheld.push(...splice([bytes], edits))
      return []
    }
    if (lastFrom === undefined || this.#released) return splice([bytes], edits)
    // From the last event on everything waits until the answer has been accounted for.
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
    const complete =
      this.atLast || this.#released || this.#errorSeen || (rest !== undefined && this.#endsCut(rest))
    this.#withheld ??= []
    if (rest) this.#withheld.push(rest)
    return complete
  }

  takeLast(): readonly Buffer[] {
    this.#released = true
    const last = this.#withheld ?? []
    this.#withheld = []
    return last
  }

  #endsCut(rest: Buffer): boolean {
    return this.#options.protocol === 'openai' && CUT_DONE.test(rest.toString('latin1'))
  }

  /** Notes the edits that an event needs, shows its usage to the observer, and says whether it ends the stream. */
  #look(bytes: Buffer, event: SseEvent, edits: Edit[]): Ending {
    const { data } = event
    if (data.length === 0) return undefined
    const [start = 0, end = 0] = data
    if (data.length === 2 && DONE.compare(bytes, start, end) === 0) return 'last'
    const scanner = this.#scanner
    scanner.reset()
    for (let pair = 0; pair < data.length; pair += 2) {
      // Several data lines are one text, joined by a newline.
      if (pair > 0) scanner.push(NEWLINE, data[pair - 1])
      scanner.push(bytes, data[pair], data[pair], data[pair + 1])
    }
    return this.#options.protocol === 'openai'
      ? this.#lookOpenai(bytes, event, scanner.members, edits)
      : this.#lookAnthropic(bytes, scanner.members, edits)
  }

  #lookOpenai(bytes: Buffer, event: SseEvent, members: readonly JsonMember[], edits: Edit[]): Ending {
    const { hideUsage, observer } = this.#options
    let noChoices = false
    let model: JsonMember | undefined
    let usage: JsonMember | undefined
    let ending: Ending
    for (const member of members) {
      if (member.name === 'model' && member.kind === 'string') model = member
      else if (member.name === 'usage') usage = member
      else if (member.name === 'choices') noChoices = isEmptyArray(bytes, member)
      else if (member.name === 'error' && member.kind === 'object') ending = 'error'
    }
    if (usage?.kind === 'object') {
      observer.onMember('usage', bytes.subarray(usage.start, usage.end))
      if (hideUsage && noChoices && event.whole) {
        edits.push({ start: event.start, end: event.end, bytes: NOTHING })
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

  #lookAnthropic(bytes: Buffer, members: readonly JsonMember[], edits: Edit[]): Ending {
    let ending: Ending
    for (const member of members) {
      if (member.name === 'message' && member.kind === 'object') {
        const inner = new JsonScanner()
        inner.push(bytes, member.start, member.start, member.end)
        this.#lookAnthropic(bytes, inner.members, edits)
      } else if (member.name === 'model' && member.kind === 'string') edits.push(this.#named(member))
      else if (member.name === 'usage' && member.kind === 'object') {
        this.#options.observer.onMember('usage', bytes.subarray(member.start, member.end))
      } else if (member.name === 'type' && MESSAGE_STOP.compare(bytes, member.start, member.end) === 0)
        ending = 'last'
      else if (member.name === 'error' && member.kind === 'object') ending = 'error'
    }
    return ending
  }

  #named(model: JsonMember): Edit {
    return { start: model.start, end: model.end, bytes: this.#options.nameJson }
  }
}

function shifted(edit: Edit, by: number): Edit {
  return { start: edit.start - by, end: edit.end - by, bytes: edit.bytes }
}

function isEmptyArray(bytes: Buffer, member: JsonMember): boolean {
  return member.kind === 'array' && bytes.toString('latin1', member.start + 1, member.end - 1).trim() === ''
}

/** Takes a member out together with the comma that parted it from a neighbour. */
function withoutMember(members: readonly JsonMember[], member: JsonMember): Edit {
  const at = members.indexOf(member)
  const before = members[at - 1]
  if (before) return { start: before.end, end: member.end, bytes: NOTHING }
  const after = members[at + 1]
  return { start: member.nameStart, end: after ? after.nameStart : member.end, bytes: NOTHING }
}
