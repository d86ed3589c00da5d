/**
 * Replaces the served model name by the external one in an upstream's error: as a whole word, quoted or not, with or
 * without a version (`gpt-4o-2024-08-06`, `claude-x@20250219`, `llama:latest`, `gemini-001`).
 *
 * Texts are their bytes as latin1, so that invalid UTF-8 is preserved. Member names and machine-readable values are not
 * replaced: a model may be called `error`.
 */
export class ServedName {
  readonly #pattern: RegExp
  readonly #name: string
  readonly #isTiny: boolean
  /** Both names are equal: nothing is replaced. */
  readonly #isSame: boolean
  /** Limit of the length of a name with its context. */
  readonly #reach: number

  /** @param nameJson The external name, as a JSON string. */
  constructor(servedModel: string, nameJson: Buffer) {
    const letters = Array.from(servedModel, letter => spellings(letter))
    this.#pattern = new RegExp(`(?:${letters.join('')})(?:${VERSION})?${WORD_ENDS}`, 'g')
    this.#name = nameJson.toString('latin1').slice(1, -1)
    this.#isSame = nameJson.equals(Buffer.from(JSON.stringify(servedModel)))
    this.#isTiny = servedModel.length < TINY
    this.#reach = letters.length * LONGEST_LETTER + LONGEST_VERSION + LOOK_BACK
  }

  /** Replaces the names in `text` between two offsets, neither of which lies inside a name. */
  restored(text: string, isJson: boolean, from = 0, to = text.length): string {
    if (this.#isSame) return text.slice(from, to)
    let restored = ''
    let at = from
    for (const { 0: found, index } of text.matchAll(this.#pattern)) {
      if (index < at) continue
      if (index >= to) break
      const end = index + found.length
      restored += text.slice(at, index) + (this.#isModelName(text, isJson, index, end) ? this.#name : found)
      at = end
    }
    return restored + text.slice(at, to)
  }

  /** The end of the part of `text` that can be restored before the rest arrives. */
  safeEnd(text: string): number {
    const end = Math.max(0, text.length - this.#reach)
    for (const { 0: found, index } of text.matchAll(this.#pattern))
      if (index < end && index + found.length > end) return index
    return end
  }

  #isModelName(text: string, isJson: boolean, start: number, end: number): boolean {
    const before = text.slice(Math.max(0, start - LOOK_BACK), start)
    if (!WORD_BEGINS.test(before)) return false
    if (isJson) {
      if (before.endsWith('"') && MEMBER_NAME.test(text.slice(end, end + LOOK_BACK))) return false
      if (MACHINE_READ.test(before)) return false
    }
    return !this.#isTiny || isQuoted(before, text.slice(end, end + 2)) || AFTER_MODEL.test(before)
  }
}

/** A shorter name may be an ordinary word: it is replaced only in quotes or after `model`. */
const TINY = 3
/** Characters of context on either side of a name. */
export const LOOK_BACK = 64
const VERSION = String.raw`[-@](?:\d{4}-\d{2}-\d{2}|\d{8}|\d{6}|\d{3,4}|latest)|:latest`
const LONGEST_VERSION = 16
/** A character of four bytes, as two escapes. */
const LONGEST_LETTER = 12
const WORD_ENDS = String.raw`(?![\w-]|\.\w)`
/** Matches the end of the text before a name: not a part of a word, or an escape such as `\n`. */
const WORD_BEGINS = /(?:^|[^\w-]|(?<!\\)(?:\\\\)*\\[bfnrt])$/
const MEMBER_NAME = /^"\s*:/
const MACHINE_READ = /"(?:type|code|param|object|status)"\s*:\s*"$/
const QUOTES = '"\'`'
const AFTER_MODEL = /\bmodels?\W{1,3}$/i

/** Whether a text looks like JSON, and so has member names. */
export function isJsonLike(text: string): boolean {
  return /^\s*[[{]/.test(text)
}

function isQuoted(before: string, after: string): boolean {
  const quote = before.slice(-1)
  return quote !== '' && QUOTES.includes(quote) && (after.startsWith(quote) || after === `\\${quote}`)
}

/** A pattern for the spellings of a letter in JSON and in plain text: its bytes, or escaped. */
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
