import { MASK, namedSecrets, secretShapes } from './mask.ts'
import { printable } from './path.ts'
import { mergeRanges, type Source, type Span } from './source.ts'

const LINES_AROUND = 2
/** Shown lines are cut to this many characters around the marker. */
const WIDTH = 120
/** In a longer line, only this distance to each side of the marker is searched for secrets. */
const SEARCHED = 4_096

/**
 * The lines around a span, with a `>` before the line and a `^` under the range; secrets as stars.
 *
 *         11 |   openai:
 *       > 12 |     base_ulr: https://api.openai.com/v1
 *            |     ^^^^^^^^
 *         13 |     upstream_key: ********
 *
 * `undefined` without text to show.
 */
export function codeFrame(span: Span): string | undefined {
  const { source, start, end } = span
  if (source.text === '') return undefined
  const { line: marked, column } = source.placeAt(start)
  const first = Math.max(1, marked - LINES_AROUND)
  const gutter = String(marked + LINES_AROUND).length
  const drawn: string[] = []
  for (let line = first; line <= marked + LINES_AROUND; line++) {
    const range = source.lineRange(line)
    if (range === undefined || (line > marked && range[0] === source.text.length)) break
    const isMarked = line === marked
    const focus = isMarked ? { from: column - 1, to: Math.min(end, range[1]) - range[0] } : { from: 0, to: 0 }
    const shown = drawLine(source, range, focus)
    drawn.push(`${isMarked ? '>' : ' '} ${String(line).padStart(gutter)} | ${shown.text}`.trimEnd())
    if (isMarked) {
      const marker = '^'.repeat(Math.max(1, shown.to - shown.from))
      drawn.push(`  ${' '.repeat(gutter)} | ${' '.repeat(shown.from)}${marker}`)
    }
  }
  return drawn.join('\n')
}

interface Focus {
  readonly from: number
  readonly to: number
}

/** One line, masked and cut, with the new position of the focus. */
function drawLine(
  source: Source,
  [start, end]: readonly [number, number],
  focus: Focus,
): Focus & { text: string } {
  const from = Math.max(start, start + focus.from - SEARCHED)
  const to = Math.min(end, start + focus.from + SEARCHED)
  const line = source.text.slice(from, to)
  const hidden = source.redactedWithin(from, to).map(([a, b]) => [a - from, b - from] as const)
  // A cut may split a secret, which then no longer looks like one.
  const cutOff = from > start ? [[0, /^\S*/.exec(line)?.[0].length ?? 0] as const] : []
  const ranges = mergeRanges([...hidden, ...secretShapes(line), ...secretsAside(line, source), ...cutOff])
  const masked = replaceRanges(line, ranges, {
    from: start + focus.from - from,
    to: start + focus.to - from,
  })
  return cut({ ...masked, text: printable(masked.text) })
}

/** Secrets after a secret's name in a comment, or in a line that YAML could not parse. */
function secretsAside(line: string, source: Source): [number, number][] {
  return namedSecrets(line).filter(([start]) => source.unread || line.lastIndexOf('#', start) !== -1)
}

/** Replaces ranges by stars and shifts the focus accordingly. */
function replaceRanges(
  line: string,
  ranges: readonly (readonly [number, number])[],
  focus: Focus,
): Focus & { text: string } {
  let text = ''
  let at = 0
  let { from, to } = focus
  for (const [start, end] of ranges) {
    text += line.slice(at, start) + MASK
    at = end
    const shift = MASK.length - (end - start)
    if (focus.from >= end) from += shift
    else if (focus.from > start) from = text.length - MASK.length
    if (focus.to >= end) to += shift
    else if (focus.to > start) to = text.length
  }
  return { text: text + line.slice(at), from, to }
}

function cut({ text, from, to }: Focus & { text: string }): Focus & { text: string } {
  if (text.length <= WIDTH) return { text, from, to }
  const left = from > WIDTH - 20 ? from - 40 : 0
  const head = left > 0 ? '…' : ''
  const tail = left + WIDTH < text.length ? '…' : ''
  const shown = head + text.slice(left, left + WIDTH) + tail
  const moved = head.length - left
  return { text: shown, from: from + moved, to: Math.min(to + moved, shown.length) }
}
