import type { Io, Sink } from '../io.ts'

/** Colours by meaning. Without colour each function returns its text. */
export interface Style {
  readonly colour: boolean
  added(text: string): string
  changed(text: string): string
  removed(text: string): string
  fault(text: string): string
  strong(text: string): string
  faint(text: string): string
}

/** SGR parameters (ECMA-48 §8.3.117): start and end of a style. */
const SGR = {
  added: ['32', '39'],
  changed: ['33', '39'],
  removed: ['31', '39'],
  fault: ['1;31', '22;39'],
  strong: ['1', '22'],
  faint: ['2', '22'],
} as const

export type ColourWhen = 'auto' | 'always' | 'never'
export const COLOUR_WHEN: readonly ColourWhen[] = ['auto', 'always', 'never']

/** The signs of a report and the lines of a tree. */
export interface Glyphs {
  readonly pass: string
  readonly fail: string
  readonly skip: string
  readonly assumed: string
  readonly next: string
  readonly branch: string
  readonly last: string
  readonly trunk: string
}

const UNICODE: Glyphs = {
  pass: '✓',
  fail: '✗',
  skip: '·',
  assumed: '~',
  next: '→',
  branch: '├─ ',
  last: '└─ ',
  trunk: '│  ',
}
/** Of the same widths. */
const ASCII: Glyphs = {
  pass: '+',
  fail: 'x',
  skip: '.',
  assumed: '~',
  next: '>',
  branch: '|- ',
  last: '`- ',
  trunk: '|  ',
}

/**
 * The style for one stream: colours only on a terminal, and never with a non-empty `NO_COLOR`
 * (no-color.org). `--color` overrides both.
 */
export function styleFor(sink: Sink, io: Pick<Io, 'environment'>, when: ColourWhen): Style {
  const { NO_COLOR: none, TERM: terminal } = io.environment
  const wanted = sink.isTTY === true && !none && terminal !== 'dumb'
  return styled(when === 'always' || (when === 'auto' && wanted))
}

export function styled(colour: boolean): Style {
  const paint = (name: keyof typeof SGR) => {
    const [begin, end] = SGR[name]
    return (text: string) => (colour && text !== '' ? `\u001B[${begin}m${text}\u001B[${end}m` : text)
  }
  return {
    colour,
    added: paint('added'),
    changed: paint('changed'),
    removed: paint('removed'),
    fault: paint('fault'),
    strong: paint('strong'),
    faint: paint('faint'),
  }
}

/**
 * ASCII if the locale has another encoding than UTF-8 (POSIX.1-2024 §8.2: `LC_ALL` before `LC_CTYPE` before `LANG`).
 * Without a locale, as in most containers: UTF-8.
 */
export function glyphsFor({ environment }: Pick<Io, 'environment'>): Glyphs {
  const locale = environment['LC_ALL'] || environment['LC_CTYPE'] || environment['LANG'] || 'UTF-8'
  return /utf-?8/i.test(locale) ? UNICODE : ASCII
}

const CONTROL = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\u2028\u2029]/gu

/**
 * Text from files and databases on one line: control and format characters become `\u{…}`, so that a display name
 * can neither move the cursor nor reorder the output.
 */
export function printable(text: string): string {
  return text.replace(CONTROL, character => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`)
}
