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

/** Runs of `*` are one: nested repetition is what makes an expression slow on a hostile name. */
function globExpression(glob: string): RegExp {
  const source = glob
    .replace(/\*+/g, '*')
    .replace(/[.+^${}()|[\]\\]/g, String.raw`\$&`)
    .replaceAll('*', '.*')
    .replaceAll('?', '.')
  return new RegExp(`^${source}$`, 'su')
}
