import { type CanonicalSpec, encode, KINDS, type Kind, type Resource, type Spec } from '../schema/kinds.ts'
import { fieldChanges } from './changes/fields.ts'
import type { Plan, ResourceChange } from './changes/types.ts'

/**
 * A plan for display: created resources show only the fields that differ from their default. Updates are unchanged.
 *
 * @param tree the resources after the plan.
 */
export function withoutDefaults(plan: Plan, tree: { readonly resources: readonly Resource[] }): Plan {
  return { ...plan, changes: changesWithoutDefaults(plan.changes, tree.resources) }
}

/** The same for a list of changes. */
export function changesWithoutDefaults(
  changes: readonly ResourceChange[],
  resources: readonly Resource[],
): readonly ResourceChange[] {
  const specs = new Map(resources.map(({ kind, name, spec }) => [`${kind}/${name}`, spec]))
  return changes.map(change => {
    const spec = specs.get(`${change.kind}/${change.name}`)
    if (change.action !== 'create' || !spec) return change
    const written = writtenPaths(change.kind, spec)
    return { ...change, fields: change.fields.filter(field => written.has(field.path)) }
  })
}

function writtenPaths(kind: Kind, spec: CanonicalSpec): Set<string> {
  const required: Record<string, CanonicalSpec[string]> = {}
  for (const [field, value] of Object.entries(spec)) {
    const { [field]: _left, ...others } = spec
    if (!KINDS[kind].safeParse(others).success) required[field] = value
  }
  const minimal = KINDS[kind].safeParse(required)
  const defaults = minimal.success ? encode(kind, minimal.data as Spec<typeof kind>) : {}
  const differing = fieldChanges(kind, defaults, spec).map(change => change.path)
  const written = new Set([...Object.keys(required), ...differing])
  // They are part of the name of a binding.
  if (kind === 'binding') for (const field of ['publication', 'endpoint']) written.delete(field)
  return written
}
