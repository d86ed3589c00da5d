import { textWidth } from '../../base/text-width.ts'

/** The maximum line length, also without a terminal. */
const MAX_WIDTH = 100

/** Wraps a paragraph to the width of the terminal; each line has `indent` spaces before it and a line feed after it. */
export function wrapText(text: string, width: number | undefined, indent: number): string {
  const available = Math.max(20, Math.min(width ?? MAX_WIDTH, MAX_WIDTH) - indent)
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`
    if (line !== '' && textWidth(longer) > available) {
      lines.push(line)
      line = word
    } else line = longer
  }
  lines.push(line)
  return lines.map(each => `${' '.repeat(indent)}${each}\n`).join('')
}
