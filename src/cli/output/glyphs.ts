import type { Io } from '../io.ts'

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
 * ASCII if the locale has another encoding than UTF-8 (POSIX.1-2024 §8.2: `LC_ALL` before `LC_CTYPE` before `LANG`).
 * Without a locale, as in most containers: UTF-8.
 */
export function glyphsFor({ environment }: Pick<Io, 'environment'>): Glyphs {
  const locale = environment['LC_ALL'] || environment['LC_CTYPE'] || environment['LANG'] || 'UTF-8'
  return /utf-?8/i.test(locale) ? UNICODE : ASCII
}
