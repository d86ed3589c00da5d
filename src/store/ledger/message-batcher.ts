import type { Clock, Timer } from '../../base/clock.ts'
import type { Item } from './messages.ts'
import { type PackedPost, packed } from './wire-format.ts'

/**
 * The number of messages that the writer may have at once: one that it commits, and one that it can start next. Later
 * items wait for the next message, so that under load messages and commits get larger instead of more frequent.
 */
const MAX_UNANSWERED = 2

/**
 * How many turns of the event loop to wait while each brings more items. If both threads share a core, the writer runs
 * as soon as it has a message, and a commit of one row, the message back and two context switches cost as much as ten
 * rows.
 */
const MAX_TURNS = 4

/** How long an item from `add` may wait for other items. */
const MAX_DELAY_MS = 20

/**
 * Batches items for the writer's thread: a message costs more than a row, so all items of a busy phase of the event
 * loop share one message.
 *
 *     put ──▶ items ─────▶ a turn brings no more ──▶ message
 *                 ▲                                     │
 *     add ────────┘ two are unanswered: until ◀─────────┘
 *                   the writer has reported
 */
export class MessageBatcher {
  readonly #post: (post: PackedPost) => void
  readonly #clock: Clock
  #delayTimer: Timer | undefined
  #items: Item[] = []
  /** The last numbers of the messages that the writer has not yet answered. */
  readonly #unanswered: number[] = []
  #last = 0
  /** A batch is due: it has an item with a waiting caller, or is old enough. */
  #isNeeded = false
  #isScheduled = false
  #isUrgent = false
  #closed = false

  /** @param post Sends a message to the writer. */
  constructor(post: (post: PackedPost) => void, clock: Clock) {
    this.#post = post
    this.#clock = clock
  }

  /** Queues an item; items are numbered from 1 in the order of their calls. */
  put(item: Item): void {
    this.#items.push(item)
    this.#last++
    this.#isNeeded = true
    this.#scheduleSend()
  }

  /** The same for an item without a waiting caller: it is sent with the next item, or after {@link MAX_DELAY_MS}. */
  add(item: Item): void {
    this.#items.push(item)
    this.#last++
    this.#delayTimer ??= this.#clock.after(MAX_DELAY_MS, () => {
      this.#delayTimer = undefined
      this.#isNeeded = this.#items.length > 0
      this.#scheduleSend()
    })
  }

  /** The writer has reported on all items up to a number. */
  answered(upTo: number): void {
    const unanswered = this.#unanswered
    while (unanswered.length > 0 && (unanswered[0] as number) <= upTo) unanswered.shift()
    this.#scheduleSend()
  }

  /**
   * During an outage the writer commits nothing: it must get new items at once, so that their waiting time counts from
   * the start.
   */
  set isUrgent(isUrgent: boolean) {
    this.#isUrgent = isUrgent
    this.#scheduleSend()
  }

  /** Sends nothing from now on. */
  close(): void {
    this.#closed = true
    this.#delayTimer?.cancel()
  }

  #scheduleSend(): void {
    if (this.#isScheduled || !this.#isNeeded) return
    if (this.#unanswered.length >= MAX_UNANSWERED && !this.#isUrgent) return
    this.#isScheduled = true
    this.#sendWhenQuiet(0, MAX_TURNS)
  }

  #sendWhenQuiet(last: number, turnsLeft: number): void {
    setImmediate(() => {
      if (this.#last > last && turnsLeft > 0) return this.#sendWhenQuiet(this.#last, turnsLeft - 1)
      this.#isScheduled = false
      if (!this.#closed) this.#send()
    })
  }

  #send(): void {
    const items = this.#items.map(packed)
    this.#items = []
    this.#isNeeded = false
    this.#unanswered.push(this.#last)
    this.#post({ first: this.#last - items.length + 1, items })
  }
}
