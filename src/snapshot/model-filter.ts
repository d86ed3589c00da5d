import type { ModelFilter } from './types.ts'

const GLOB = /[*?]/
const EVERYTHING: ModelFilter = () => true

/**
 * A filter from names and globs: `*` matches any characters, also `/`; `?` matches one. A name that contains `*` or `?`
 * also matches itself.
 */
export function modelFilter(patterns: readonly string[]): ModelFilter {
  if (patterns.includes('*')) return EVERYTHING
  const names = new Set(patterns)
  const globs = patterns.filter(pattern => GLOB.test(pattern)).map(globExpression)
  if (globs.length === 0) return model => names.has(model)
  return model => names.has(model) || globs.some(glob => glob.test(model))
}

/**
 * Each piece between two `*` matches at its first occurrence only, which is equivalent for a glob: a backreference to a
 * lookahead does not backtrack. With backtracking a few `*` would take hours on a name that nearly matches.
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

/** The pattern of a piece without `*`. */
function literal(piece: string): string {
  return piece.replace(/[.+^${}()|[\]\\]/g, String.raw`\$&`).replaceAll('?', '.')
}
