/** Characters that terminals draw two columns wide (Unicode TR 11, the common blocks). */
const WIDE =
  /[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6]|\p{Extended_Pictographic}/u
const ZERO = /\p{Mn}|\p{Me}/u

/** The beginning of a text that fits into the given columns. */
export function headOfWidth(text: string, width: number): string {
  let taken = ''
  let used = 0
  for (const character of text) {
    used += characterWidth(character)
    if (used > width) break
    taken += character
  }
  return taken
}

/** The columns of a text without control characters in a terminal. */
export function textWidth(text: string): number {
  let sum = 0
  for (const character of text) sum += characterWidth(character)
  return sum
}

function characterWidth(character: string): number {
  if (character < '\u0300') return 1
  if (ZERO.test(character)) return 0
  return WIDE.test(character) ? 2 : 1
}
