/**
 * Lets tasks through a few at a time, with a turn of the event loop in between. A crowd that asks the control plane at
 * once so shares the loop with `/health` and with those who are logged in, instead of holding them up until it is through.
 */
export class EventLoopPacer {
  readonly #perTurn: number
  readonly #waiting: (() => void)[] = []
  #isTurning = false

  constructor(perTurn: number) {
    this.#perTurn = perTurn
  }

  /** In the order in which they come; never at once. */
  pass(task: () => void): void {
    this.#waiting.push(task)
    if (this.#isTurning) return
    this.#isTurning = true
    setImmediate(() => this.#turn())
  }

  #turn(): void {
    const through = this.#waiting.splice(0, this.#perTurn)
    this.#isTurning = this.#waiting.length > 0
    if (this.#isTurning) setImmediate(() => this.#turn())
    for (const task of through) task()
  }
}
