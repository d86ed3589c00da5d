import { didYouMean as nearest } from '../config/did-you-mean.ts'
import type { Kind } from '../schema/kinds.ts'
import type { UsageFilters } from '../store/ledger/types.ts'
import type { Live } from '../store/types.ts'
import type { Context } from './context.ts'

/** The kind of resource that each filter refers to. */
const FILTERED = {
  key: 'key',
  tenant: 'tenant',
  publication: 'publication',
  endpoint: 'endpoint',
} as const satisfies Record<keyof UsageFilters, Kind>

/** Similar names that exist: `Did you mean blue or bluebird?` */
export function didYouMean(live: Live, kind: Kind, name: string): string | undefined {
  const names = live.resources.filter(resource => resource.kind === kind).map(resource => resource.name)
  const similar = similarNames(name, names)
  return similar.length > 0 ? `Did you mean ${similar.join(' or ')}?` : undefined
}

const LISTED = 10

/** The existing names, for an error message: `Existing: blue, green.` */
export function existingNames(live: Live, kind: Kind): string {
  const names = live.resources.filter(resource => resource.kind === kind).map(resource => resource.name)
  if (names.length === 0) return `The store has no ${kind} yet: declare one, and apply.`
  const more = names.length > LISTED ? `, and ${names.length - LISTED} more` : ''
  return `Existing: ${names.slice(0, LISTED).join(', ')}${more}.`
}

/**
 * A sentence for each filter that names a missing resource. That is no error, because the resource may have existed
 * once, but it is the likely reason for an empty result.
 */
export async function unknownNames(
  { store }: Pick<Context, 'store'>,
  filters: UsageFilters,
): Promise<readonly string[]> {
  if (Object.keys(FILTERED).every(field => filters[field as keyof UsageFilters] === undefined)) return []
  const live = await store.live()
  const existing = new Set(live.resources.map(({ kind, name }) => `${kind}/${name}`))
  return Object.entries(FILTERED).flatMap(([field, kind]) => {
    const name = filters[field as keyof UsageFilters]
    if (name === undefined || existing.has(`${kind}/${name}`)) return []
    const suggestion = didYouMean(live, kind, name)
    return [`There is no ${kind} ${name} now.${suggestion === undefined ? '' : ` ${suggestion}`}`]
  })
}

/** The names of a kind, sorted. */
export async function listNames({ store }: Pick<Context, 'store'>, kind: Kind): Promise<readonly string[]> {
  return (await store.find({ kind })).resources.map(({ name }) => name)
}

const MOST_SIMILAR = 3

/** Up to three similar names: the nearest one, and those that share a part with it. */
export function similarNames(name: string, names: readonly string[]): string[] {
  const wanted = name.toLowerCase()
  const near = nearest(name, names)
  const parts = names.filter(candidate => {
    const other = candidate.toLowerCase()
    return other.includes(wanted) || (other.length > 2 && wanted.includes(other))
  })
  return [...new Set([...(near === undefined ? [] : [near]), ...parts])].slice(0, MOST_SIMILAR)
}
