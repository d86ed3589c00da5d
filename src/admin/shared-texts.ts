/** JSON of objects that several clients get: the same object is made into text once. */
export class SharedTexts {
  readonly #texts = new WeakMap<object, string>()

  of(value: object): string {
    const known = this.#texts.get(value)
    if (known !== undefined) return known
    const text = JSON.stringify(value)
    this.#texts.set(value, text)
    return text
  }
}
