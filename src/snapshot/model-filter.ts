import type { ModelFilter } from './types.ts'

const GLOB = /[*?]/
const EVERYTHING: ModelFilter = () => true

/**
 * A filter from names and globs: `*` stands for any characters, also `/`; `?` for one. A name that is itself
 * written with `*` or `?` matches itself, too.
 */
export function modelFilter(patterns: readonly string[]): ModelFilter {
  if (patterns.includes('*')) return EVERYTHING
  const names = new Set(patterns)
  const globs = patterns.filter(pattern => GLOB.test(pattern)).map(globExpression)
  if (globs.length === 0) return model => names.has(model)
  return model => names.has(model) || globs.some(glob => glob.test(model))
}

/**
 * What stands between two `*` is looked for where it comes first and never again further on, which is what a glob means
 * as well as any other way: a backreference to a lookahead gives nothing back. Otherwise a few `*` would take hours over
 * a name that nearly fits.
 */
function globExpression(glob: string): RegExp {
  const pieces = glob.replace(/\*+/g, '*').split('*').map(literal)
  const last = pieces.length - 1
  const source = pieces.map((piece, index) => {
    if (index === 0) return piece
    return index === last ? `.*${piece}` : `(?=(.*?${piece}))\\${index}`
  })
  return new RegExp(`^${source.join('')}$`, 'su')
}

/** Of a piece without `*`. */
function literal(piece: string): string {
  return piece.replace(/[.+^${}()|[\]\\]/g, String.raw`\$&`).replaceAll('?', '.')
}
