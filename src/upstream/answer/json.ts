import type { JsonMember } from '../../base/json/scanner.ts'
import { type Edit, extract, shifted, splice } from '../../base/splice.ts'
import type { AnswerFormat } from '../../schema/paths.ts'
import { AnswerScanner } from './answer-scanner.ts'
import type { AnswerFilter, FilterOptions } from './filter.ts'
import { ServedName } from './served-name.ts'
import { itemIds, storedId } from './stored-id.ts'

/** Up to this size an answer is buffered and written once; until then a failure can still become an error status. */
const HOLD_BYTES = 262_144
/** Limit for buffering a watched value; a longer one passes unread. */
const HOLD_OPEN_BYTES = 4_194_304
const NOTHING = Buffer.alloc(0)
const FAILED = Buffer.from('"failed"')
/** The members that are replaced or read. */
const WATCHED: Readonly<Record<AnswerFormat, ReadonlySet<string>>> = {
  chat: new Set(['model', 'usage', 'meta', 'error']),
  messages: new Set(['model', 'usage', 'error']),
  media: new Set(['model', 'usage', 'error']),
  responses: new Set(['model', 'usage', 'id', 'output', 'status', 'error']),
}

/** Filters an answer that is one JSON object. */
export class JsonAnswer implements AnswerFilter {
  readonly insideEvent = false
  /** A response says that it has failed; or another answer is an error, with a status of success and without text. */
  get failed(): boolean {
    return this.#options.format === 'responses' ? this.#hasFailed : this.isBareError
  }

  get isBareError(): boolean {
    return this.#hasFailed && this.#textBytes === 0
  }

  #hasFailed = false
  readonly #options: FilterOptions
  readonly #scanner = new AnswerScanner()
  #held: Buffer[] = []
  /** Offset of the first byte held. */
  #heldFrom = 0
  #lengthBytes = 0
  #edits: Edit[] = []
  #seenMembers = 0
  #textBytes = 0
  #atLast = false

  constructor(options: FilterOptions) {
    this.#options = options
  }

  get finished(): boolean {
    // Anthropic's `stop_reason` is at the root.
    const isReason = ({ name, kind }: JsonMember) => name === 'stop_reason' && kind === 'string'
    return this.#scanner.hasFinishReason || this.#scanner.members.some(isReason)
  }

  get atLast(): boolean {
    return this.#atLast
  }

  push(piece: Buffer): readonly Buffer[] {
    const pieceFrom = this.#lengthBytes
    this.#scanner.push(piece, pieceFrom)
    this.#held.push(piece)
    this.#lengthBytes += piece.length
    const { writtenBytes } = this.#scanner
    // A response that has failed before it said anything has not begun.
    if (this.#options.format !== 'responses' || writtenBytes > 0)
      this.#options.observer.onText(writtenBytes - this.#textBytes)
    this.#textBytes = writtenBytes
    this.#lookAtMembers()
    const heldBytes = this.#lengthBytes - this.#heldFrom
    return heldBytes > HOLD_BYTES ? this.#release(this.#safeEnd(pieceFrom, heldBytes)) : []
  }

  end(): boolean {
    this.#atLast = true
    return this.#scanner.done && this.#scanner.rootKind === 'object'
  }

  takeLast(): readonly Buffer[] {
    if (this.#heldFrom > 0) return this.#release(this.#lengthBytes)
    const held = this.#held
    this.#held = []
    this.#heldFrom = this.#lengthBytes
    return splice(held, this.#edits)
  }

  /** Up to where bytes may pass: not into a value that is or may be edited, and never the last piece. */
  #safeEnd(pieceFrom: number, heldBytes: number): number {
    const changed = this.#edits.find(edit => edit.start < pieceFrom && edit.end > pieceFrom)
    if (changed) return changed.start
    const open = this.#scanner.openMember
    if (!open || !this.#watched.has(open.name) || heldBytes > HOLD_OPEN_BYTES) return pieceFrom
    return Math.min(pieceFrom, open.start)
  }

  /** Returns the held bytes up to `end`, edited. No edit crosses `end`. */
  #release(end: number): readonly Buffer[] {
    const from = this.#heldFrom
    if (end <= from) return []
    const edits = this.#edits.filter(edit => edit.end <= end)
    this.#edits = this.#edits.filter(edit => edit.end > end)
    const cut = { start: end - from, end: this.#lengthBytes - from, bytes: NOTHING }
    const passing = splice(this.#held, [...edits.map(edit => shifted(edit, from)), cut])
    this.#held = splice(this.#held, [{ start: 0, end: cut.start, bytes: NOTHING }])
    this.#heldFrom = end
    return passing
  }

  #lookAtMembers(): void {
    const { members } = this.#scanner
    for (; this.#seenMembers < members.length; this.#seenMembers++) {
      const member = members[this.#seenMembers]
      if (!member || member.start < this.#heldFrom || !this.#watched.has(member.name)) continue
      if (this.#options.format === 'responses') this.#lookAtResponse(member)
      else if (member.name === 'error' && member.kind === 'object') {
        this.#hasFailed = true
        this.#restoreError(member)
      }
      if (member.name === 'model' && member.kind === 'string') {
        this.#edits.push({ start: member.start, end: member.end, bytes: this.#options.nameJson })
      } else if (member.kind === 'object' && member.name !== 'error')
        this.#options.observer.onMember(member.name, this.#textOf(member))
    }
  }

  /** The ids of a response and of its items, its status, and the model name in its error. */
  #lookAtResponse(member: JsonMember): void {
    const { name, kind } = member
    const { observer } = this.#options
    if (name === 'id' && kind === 'string') {
      const id = storedId(this.#textOf(member))
      if (id !== undefined) observer.onStoredId?.('response', id)
    } else if (name === 'output' && kind === 'array') {
      for (const id of itemIds(this.#textOf(member))) observer.onStoredId?.('item', id)
    } else if (name === 'status') this.#hasFailed = this.#textOf(member).equals(FAILED)
    else if (name === 'error' && kind === 'object') this.#restoreError(member)
  }

  /** The model name in an error. */
  #restoreError(member: JsonMember): void {
    const { servedModel, nameJson } = this.#options
    const { start, end } = member
    const text = this.#textOf(member).toString('latin1')
    const restored = new ServedName(servedModel, nameJson).restored(text, true)
    this.#edits.push({ start, end, bytes: Buffer.from(restored, 'latin1') })
  }

  get #watched(): ReadonlySet<string> {
    return WATCHED[this.#options.format]
  }

  #textOf({ start, end }: JsonMember): Buffer {
    return extract(this.#held, start - this.#heldFrom, end - this.#heldFrom)
  }
}
