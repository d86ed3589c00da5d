/** The path of a value in a document: `['endpoints', 'openai', 'timeouts', 'connect']`. */
export type Path = readonly (string | number)[]

const PLAIN = /^[\w-]+$/
const LONGEST_NAME = 80

/** `endpoints.openai.timeouts.connect`, `publications["gpt-4.1"].bindings[0]`. */
export function formatPath(path: Path): string {
  return path
    .map((step, at) => {
      if (typeof step === 'number') return `[${step}]`
      if (!PLAIN.test(step) || step.length > LONGEST_NAME) return `["${shorten(step)}"]`
      return at === 0 ? step : `.${step}`
    })
    .join('')
}

/** A name or a value for a message: on one line, printable, of limited length. */
export function shorten(text: string): string {
  const short = text.length > LONGEST_NAME ? `${text.slice(0, LONGEST_NAME)}…` : text
  return printable(short)
}

/**
 * Replaces characters that can control a terminal or reorder a line: control characters, and the bidirectional
 * controls of "Trojan Source" (CVE-2021-42574).
 */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, control =>
    control === '\t' ? ' ' : '\u{fffd}',
  )
}
