import { namedAlike } from '../changes/keys-named.ts'
import type { Kind } from '../schema/kinds.ts'
import type { UsageFilters } from '../store/ledger/types.ts'
import type { Live } from '../store/types.ts'
import type { AppPorts } from './ports.ts'
import { withStore } from './stored.ts'

/** What each filter names. */
const FILTERED = {
  key: 'key',
  tenant: 'tenant',
  publication: 'publication',
  endpoint: 'endpoint',
} as const satisfies Record<keyof UsageFilters, Kind>

/** Names that may have been meant by one that does not exist: `Did you mean blue or bluebird?` */
export function didYouMean(live: Live, kind: Kind, name: string): string | undefined {
  const names = live.resources.filter(resource => resource.kind === kind).map(resource => resource.name)
  const similar = namedAlike(name, names)
  return similar.length > 0 ? `Did you mean ${similar.join(' or ')}?` : undefined
}

const LISTED = 10

/** The names that stand, for whoever has guessed at one: `Those that stand: blue, green.` */
export function whatStands(live: Live, kind: Kind): string {
  const names = live.resources.filter(resource => resource.kind === kind).map(resource => resource.name)
  if (names.length === 0) return `No ${kind} stands in the store yet: declare one, and apply.`
  const more = names.length > LISTED ? `, and ${names.length - LISTED} more` : ''
  return `Those that stand: ${names.slice(0, LISTED).join(', ')}${more}.`
}

/**
 * A sentence for each filter that names nothing that stands. It may have stood once, so this is no error; but where
 * nothing is found it is the likely reason.
 */
export function unknownNames(live: Live, filters: UsageFilters): readonly string[] {
  const standing = new Set(live.resources.map(({ kind, name }) => `${kind}/${name}`))
  return Object.entries(FILTERED).flatMap(([field, kind]) => {
    const name = filters[field as keyof UsageFilters]
    if (name === undefined || standing.has(`${kind}/${name}`)) return []
    const meant = didYouMean(live, kind, name)
    return [`There is no ${kind} ${name} now.${meant === undefined ? '' : ` ${meant}`}`]
  })
}

/** The names of a kind, sorted. @throws {CommandError} GW2xxx */
export async function namesStanding(
  kind: Kind,
  storeUrl: string,
  ports: Pick<AppPorts, 'clock' | 'cwd'>,
): Promise<readonly string[]> {
  return withStore(storeUrl, 'read', ports, async store => {
    const { resources } = await store.find({ kind })
    return resources.map(({ name }) => name)
  })
}
