import { textWidth } from '../base/text-width.ts'

/** Columns of prose where there is no terminal to ask. */
const PROSE = 100

/** A paragraph in lines of at most the terminal's width, each with `indent` spaces before it and a line feed behind. */
export function wrapText(text: string, width: number | undefined, indent: number): string {
  const room = Math.max(20, Math.min(width ?? PROSE, PROSE) - indent)
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`
    if (line !== '' && textWidth(longer) > room) {
      lines.push(line)
      line = word
    } else line = longer
  }
  lines.push(line)
  return lines.map(each => `${' '.repeat(indent)}${each}\n`).join('')
}
