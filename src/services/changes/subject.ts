import type { Kind } from '../../schema/kinds.ts'
import type { Ownership } from '../../store/types.ts'

/** A resource in a sentence: `the endpoint openai`, `the binding of gpt-4o to openai`, `the settings`. */
export function subject({ kind, name }: { readonly kind: Kind; readonly name: string }): string {
  if (kind === 'settings') return 'the settings'
  return `the ${kind} ${kind === 'binding' ? `of ${name.replace(' ', ' to ')}` : name}`
}

/** An owner in a sentence: `the set team-b (b/models.yaml:12)`, `the command line`, `REST`. */
export function ownerName({ owner, set, place }: Ownership): string {
  if (owner === 'cli') return 'the command line'
  if (owner === 'rest') return 'REST'
  return `the set ${set ?? 'default'}${place ? ` (${place.file}:${place.line})` : ''}`
}
