/**
 * The members of a JSON document, a line for each path with its types: `changes[].line  number`. `before`, `after` and
 * `default` hold whatever a configuration may hold.
 */
export function shapeOf(document: unknown): readonly string[] {
  const found = new Map<string, Member>()
  visit('', document, found)
  const width = Math.max(...[...found.keys()].map(path => path.length))
  return [...found].map(([path, { types, isOptional }]) => {
    const words = [...types].sort().join(' | ') + (isOptional ? ', optional' : '')
    return path === '' ? words : `${path.padEnd(width)}  ${words}`
  })
}

interface Member {
  readonly types: Set<string>
  /** Some element of the list that it stands in has none. */
  isOptional: boolean
}

function visit(path: string, value: unknown, found: Map<string, Member>): void {
  const member = found.get(path) ?? { types: new Set<string>(), isOptional: false }
  found.set(path, member)
  if (/\.(before|after|default)$/.test(path)) {
    member.types.add('any')
    return
  }
  member.types.add(typeOf(value))
  if (Array.isArray(value)) visitList(path, value, found)
  else if (typeof value === 'object' && value !== null) {
    for (const [name, inner] of Object.entries(value))
      visit(path === '' ? name : `${path}.${name}`, inner, found)
  }
}

function visitList(path: string, list: readonly unknown[], found: Map<string, Member>): void {
  const each = list.map(element => {
    const inner = new Map<string, Member>()
    visit(`${path}[]`, element, inner)
    return inner
  })
  for (const inner of each) {
    for (const [at, { types, isOptional }] of inner) {
      const isMissing = isOptional || each.some(other => !other.has(at) && hasParent(other, at))
      const member = found.get(at) ?? { types: new Set<string>(), isOptional: false }
      for (const type of types) member.types.add(type)
      member.isOptional ||= isMissing
      found.set(at, member)
    }
  }
}

/** The map that a member would stand in is there. */
function hasParent(found: ReadonlyMap<string, Member>, path: string): boolean {
  return found.get(path.slice(0, path.lastIndexOf('.')))?.types.has('map') === true
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'list'
  if (typeof value === 'object') return 'map'
  return typeof value === 'string' ? 'text' : typeof value
}
