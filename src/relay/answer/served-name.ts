/**
 * Puts the external model name where an upstream's error says the served one: as a whole word, in quotes or without,
 * with its version behind it or not (`gpt-4o-2024-08-06`, `claude-x@20250219`, `llama:latest`, `gemini-001`).
 *
 * Texts are latin1 of their bytes, so that what is no UTF-8 survives. Names of members stay, and so do the values that
 * programs read: a model may be called `error`, too.
 */
export class ServedName {
  readonly #pattern: RegExp
  readonly #name: string
  readonly #isTiny: boolean
  /** Both names are one: nothing is to be changed. */
  readonly #isNoSecret: boolean
  /** The longest text that can be a name, and what follows it. */
  readonly #reach: number

  /** @param nameJson The external name, as a JSON string. */
  constructor(servedModel: string, nameJson: Buffer) {
    const letters = Array.from(servedModel, letter => spellings(letter))
    this.#pattern = new RegExp(`(?:${letters.join('')})(?:${VERSION})?${WORD_ENDS}`, 'g')
    this.#name = nameJson.toString('latin1').slice(1, -1)
    this.#isNoSecret = nameJson.equals(Buffer.from(JSON.stringify(servedModel)))
    this.#isTiny = servedModel.length < TINY
    this.#reach = letters.length * LONGEST_LETTER + LONGEST_VERSION + LOOK_BACK
  }

  /** What clients may read of `text` between two offsets, neither of which lies inside a name. */
  restored(text: string, isJson: boolean, from = 0, to = text.length): string {
    if (this.#isNoSecret) return text.slice(from, to)
    let restored = ''
    let at = from
    for (const { 0: found, index } of text.matchAll(this.#pattern)) {
      if (index < at) continue
      if (index >= to) break
      const end = index + found.length
      restored += text.slice(at, index) + (this.#isMeant(text, isJson, index, end) ? this.#name : found)
      at = end
    }
    return restored + text.slice(at, to)
  }

  /** Up to where `text` can be judged while more of it is to come. */
  sure(text: string): number {
    const end = Math.max(0, text.length - this.#reach)
    for (const { 0: found, index } of text.matchAll(this.#pattern))
      if (index < end && index + found.length > end) return index
    return end
  }

  #isMeant(text: string, isJson: boolean, start: number, end: number): boolean {
    const before = text.slice(Math.max(0, start - LOOK_BACK), start)
    if (!WORD_BEGINS.test(before)) return false
    if (isJson) {
      if (before.endsWith('"') && MEMBER_NAME.test(text.slice(end, end + LOOK_BACK))) return false
      if (MACHINE_READ.test(before)) return false
    }
    return !this.#isTiny || isQuoted(before, text.slice(end, end + 2)) || AFTER_MODEL.test(before)
  }
}

/** So short a name is a word of many sentences: it counts only in quotes, or behind `model`. */
const TINY = 3
/** So much on either side of a name says whether it is one. */
export const LOOK_BACK = 64
const VERSION = String.raw`[-@](?:\d{4}-\d{2}-\d{2}|\d{8}|\d{6}|\d{3,4}|latest)|:latest`
const LONGEST_VERSION = 16
/** A letter of four bytes as two escapes. */
const LONGEST_LETTER = 12
const WORD_ENDS = String.raw`(?![\w-]|\.\w)`
/** At the end of what stands before: no part of a word, or the end of an escape such as `\n`. */
const WORD_BEGINS = /(?:^|[^\w-]|(?<!\\)(?:\\\\)*\\[bfnrt])$/
const MEMBER_NAME = /^"\s*:/
const MACHINE_READ = /"(?:type|code|param|object|status)"\s*:\s*"$/
const QUOTES = '"\'`'
const AFTER_MODEL = /\bmodels?\W{1,3}$/i

/** Whether a text means to be JSON: only there have members names. */
export function isJsonLike(text: string): boolean {
  return /^\s*[[{]/.test(text)
}

function isQuoted(before: string, after: string): boolean {
  const quote = before.slice(-1)
  return quote !== '' && QUOTES.includes(quote) && (after.startsWith(quote) || after === `\\${quote}`)
}

/** A letter as it may stand in JSON or in plain text: as its bytes, or escaped. */
function spellings(letter: string): string {
  const plain = escaped(Buffer.from(letter).toString('latin1'))
  if (/[\w-]/.test(letter)) return plain
  const units = Array.from({ length: letter.length }, (_, at) => letter.charCodeAt(at))
  const hex = units.map(unit => `\\\\u${unit.toString(16).padStart(4, '0').replaceAll(/[a-f]/g, eitherCase)}`)
  const short = letter === '"' || letter === '\\' || letter === '/' ? `|\\\\${plain}` : ''
  return `(?:${plain}${short}|${hex.join('')})`
}

function eitherCase(digit: string): string {
  return `[${digit}${digit.toUpperCase()}]`
}

function escaped(text: string): string {
  return text.replaceAll(/[$()*+.?[\\\]^{|}/]/g, String.raw`\$&`)
}
