import type { Clock, Timer } from '../../base/clock.ts'
import type { Item } from './messages.ts'
import { type PackedPost, packed } from './wire-format.ts'

/**
 * So many messages may be with the writer: one that it commits, and one for it to go on with at once. What comes
 * meanwhile waits for the next, so that under load messages and commits grow instead of becoming more.
 */
const MAX_UNANSWERED = 2

/**
 * So many turns of the event loop may go by while each brings more. Where both threads share a core the writer runs
 * as soon as it has a message, and a commit of one row, the message back and two switches cost ten rows.
 */
const MAX_TURNS = 4

/** How long what nobody waits for lets others come to go along with. */
const PATIENCE_MS = 20

/**
 * What goes to the writer's thread: all that comes while the event loop has something to do in one message, because
 * a message costs more than a row.
 *
 *     put ──▶ gathered ──▶ a turn brings no more ──▶ message
 *                 ▲                                     │
 *     add ────────┘ two are unanswered: until ◀─────────┘
 *                   the writer has reported
 */
export class MessageBatcher {
  readonly #post: (post: PackedPost) => void
  readonly #clock: Clock
  #patience: Timer | undefined
  #gathered: Item[] = []
  /** The last numbers of the messages that the writer has not reported of. */
  readonly #unanswered: number[] = []
  #last = 0
  /** Somebody waits for something that has gathered, or it has gathered for long enough. */
  #isWanted = false
  #isDue = false
  #isUrgent = false
  #closed = false

  /** @param post Hands a message over. */
  constructor(post: (post: PackedPost) => void, clock: Clock) {
    this.#post = post
    this.#clock = clock
  }

  /** Items are numbered from 1 on, in the order in which they are put. */
  put(item: Item): void {
    this.#gathered.push(item)
    this.#last++
    this.#isWanted = true
    this.#goSoon()
  }

  /** The same for what nobody waits for: it goes with what comes next, or by itself when nothing has come for a while. */
  add(item: Item): void {
    this.#gathered.push(item)
    this.#last++
    this.#patience ??= this.#clock.after(PATIENCE_MS, () => {
      this.#patience = undefined
      this.#isWanted = this.#gathered.length > 0
      this.#goSoon()
    })
  }

  /** The writer has reported of all up to a number, or of a later one. */
  answered(upTo: number): void {
    const unanswered = this.#unanswered
    while (unanswered.length > 0 && (unanswered[0] as number) <= upTo) unanswered.shift()
    this.#goSoon()
  }

  /** A writer in trouble commits nothing: it is to know at once who waits, so that it can tell since when. */
  set isUrgent(isUrgent: boolean) {
    this.#isUrgent = isUrgent
    this.#goSoon()
  }

  /** Nothing goes any more. */
  close(): void {
    this.#closed = true
    this.#patience?.cancel()
  }

  #goSoon(): void {
    if (this.#isDue || !this.#isWanted) return
    if (this.#unanswered.length >= MAX_UNANSWERED && !this.#isUrgent) return
    this.#isDue = true
    this.#goOnceQuiet(0, MAX_TURNS)
  }

  #goOnceQuiet(last: number, turnsLeft: number): void {
    setImmediate(() => {
      if (this.#last > last && turnsLeft > 0) return this.#goOnceQuiet(this.#last, turnsLeft - 1)
      this.#isDue = false
      if (!this.#closed) this.#go()
    })
  }

  #go(): void {
    const items = this.#gathered.map(packed)
    this.#gathered = []
    this.#isWanted = false
    this.#unanswered.push(this.#last)
    this.#post({ first: this.#last - items.length + 1, items })
  }
}
