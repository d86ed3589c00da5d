import type { Kind, Resource } from '../../../schema/kinds.ts'
import type { NamedUse, UseQuery } from '../../../store/ledger/types.ts'
import type { Ending, Traffic } from './types.ts'
import type { RecentUse } from './use.ts'

type Gone = Omit<Ending, 'day' | 'lastUsedAtMs'>
type Use = Omit<NamedUse, 'name' | 'endpoint'>

const DAY_MS = 86_400_000
/** A resource without use for a month is not in use. */
const LAST_USE_MS = 30 * DAY_MS
const NOTHING: Traffic = { requests: 0, tokens: 0, amountNano: 0n }

/**
 * The resources that stop serving, with their recent traffic.
 *
 * @param touched the resources that the plan changes or deletes; `after` is undefined for a delete.
 */
export async function endings(
  touched: readonly { readonly before: Resource; readonly after?: Resource | undefined }[],
  use: RecentUse,
  nowMs: number,
): Promise<Ending[]> {
  const gone = touched.flatMap(({ before, after }): Gone[] => {
    if (!serves(before) || (after && serves(after))) return []
    return [{ kind: before.kind, name: before.name, how: after ? 'disabled' : 'deleted' }]
  })
  const ids = new Set(gone.map(({ kind, name }) => `${kind}/${name}`))
  // A binding that ends with one of its ends is not reported separately.
  const reported = gone.filter(({ kind, name }) => {
    if (kind !== 'binding') return true
    const { publication, endpoint } = endsOf(name)
    return !ids.has(`publication/${publication}`) && !ids.has(`endpoint/${endpoint}`)
  })
  const day = await inTheLastDay(reported, use, nowMs)
  const last = await lastUses(
    reported.filter(one => !day.has(idOf(one))),
    use,
    nowMs,
  )
  return reported.map(one => {
    const used = day.get(idOf(one))
    const lastUsedAtMs = used?.lastUsedAtMs ?? last.get(idOf(one))
    const { requests, tokens, amountNano } = used ?? NOTHING
    return {
      ...one,
      day: { requests, tokens, amountNano },
      ...(lastUsedAtMs !== undefined && { lastUsedAtMs }),
    }
  })
}

function serves({ kind, spec }: Resource): boolean {
  switch (kind) {
    case 'endpoint':
    case 'key':
      return spec['enabled'] !== false
    case 'publication':
      return spec['status'] === 'listed'
    case 'tenant':
      return spec['status'] === 'active'
    case 'binding':
      return spec['weight'] !== 0
    case 'node':
    case 'settings':
      return false
  }
}

async function inTheLastDay(
  gone: readonly Gone[],
  use: RecentUse,
  nowMs: number,
): Promise<ReadonlyMap<string, Use>> {
  const found = new Map<string, Use>()
  for (const query of queriesFor(gone, nowMs - DAY_MS)) {
    for (const row of await use.use(query)) {
      if (query.by !== 'publication') add(found, `${query.by}/${row.name}`, row)
      else {
        add(found, `publication/${row.name}`, row)
        add(found, `binding/${row.name} ${row.endpoint}`, row)
      }
    }
  }
  return found
}

async function lastUses(
  gone: readonly Gone[],
  use: RecentUse,
  nowMs: number,
): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>()
  // For a binding only the last day counts: its publication may have been used through other bindings.
  const others = gone.filter(({ kind }) => kind !== 'binding')
  for (const query of queriesFor(others, nowMs - LAST_USE_MS)) {
    for (const [name, atMs] of await use.lastUse(query)) found.set(`${query.by}/${name}`, atMs)
  }
  return found
}

function queriesFor(gone: readonly Gone[], sinceMs: number): UseQuery[] {
  const names = (...kinds: readonly Kind[]) => [
    ...new Set(
      gone
        .filter(({ kind }) => kinds.includes(kind))
        .map(({ kind, name }) => (kind === 'binding' ? endsOf(name).publication : name)),
    ),
  ]
  const queries: UseQuery[] = [
    { by: 'key', names: names('key'), sinceMs },
    { by: 'tenant', names: names('tenant'), sinceMs },
    { by: 'publication', names: names('publication', 'binding'), sinceMs },
    { by: 'endpoint', names: names('endpoint'), sinceMs },
  ]
  return queries.filter(query => query.names.length > 0)
}

function add(found: Map<string, Use>, id: string, row: Use): void {
  const sum = found.get(id)
  found.set(id, {
    requests: (sum?.requests ?? 0) + row.requests,
    tokens: (sum?.tokens ?? 0) + row.tokens,
    amountNano: (sum?.amountNano ?? 0n) + row.amountNano,
    lastUsedAtMs: Math.max(sum?.lastUsedAtMs ?? 0, row.lastUsedAtMs),
  })
}

function idOf({ kind, name }: Gone): string {
  return `${kind}/${name}`
}

/** Splits the name of a binding; its two parts contain no space. */
function endsOf(name: string): { readonly publication: string; readonly endpoint: string } {
  const [publication = '', endpoint = ''] = name.split(' ')
  return { publication, endpoint }
}
