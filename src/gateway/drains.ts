/** What is read on for clients that have left is worth less than what present ones wait for. */
const MAX_DRAINS = 64

/** Upstreams that are read on although their client has left, to learn what they will charge. */
export class Drains {
  #open = 0

  /** @returns false where too many are being drained already. */
  enter(): boolean {
    if (this.#open >= MAX_DRAINS) return false
    this.#open++
    return true
  }

  leave(): void {
    this.#open--
  }
}
