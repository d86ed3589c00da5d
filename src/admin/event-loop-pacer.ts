/**
 * Runs a few tasks per turn of the event loop. A burst of requests to the control plane then shares the loop with
 * `/health` and with logged-in users.
 */
export class EventLoopPacer {
  readonly #perTurn: number
  readonly #waiting: (() => void)[] = []
  #isTurning = false

  constructor(perTurn: number) {
    this.#perTurn = perTurn
  }

  /** Queues a task in order; it never runs synchronously. */
  schedule(task: () => void): void {
    this.#waiting.push(task)
    if (this.#isTurning) return
    this.#isTurning = true
    setImmediate(() => this.#turn())
  }

  #turn(): void {
    const batch = this.#waiting.splice(0, this.#perTurn)
    this.#isTurning = this.#waiting.length > 0
    if (this.#isTurning) setImmediate(() => this.#turn())
    for (const task of batch) task()
  }
}
