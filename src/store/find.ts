import { type Kysely, sql } from 'kysely'
import { selectSecrets, selectSuspensions } from './key-secrets.ts'
import { fromRow } from './resources.ts'
import type { Tables } from './tables.ts'
import type { Live, ResourceQuery, StoredResource } from './types.ts'

/**
 * The resources of a query, by name, with the secrets and suspensions of its keys. Reads nothing else: the store may be
 * large.
 */
export async function findResources(
  db: Kysely<Tables>,
  query: ResourceQuery,
): Promise<Pick<Live, 'resources' | 'secrets' | 'holds'>> {
  const resources = await selectMatching(db, query)
  const keys = query.kind === 'key' ? resources.map(resource => resource.name) : []
  if (keys.length === 0) return { resources, secrets: [], holds: [] }
  return { resources, secrets: await selectSecrets(db, keys), holds: await selectSuspensions(db, keys) }
}

/** Only the resources. */
export async function selectMatching(
  db: Kysely<Tables>,
  { kind, name, where = {}, contains, owner, set, after, limit }: ResourceQuery,
): Promise<StoredResource[]> {
  let query = db.selectFrom('resources').selectAll().where('kind', '=', kind).orderBy('name')
  if (name !== undefined) query = query.where('name', '=', name)
  if (owner !== undefined) query = query.where('owner', '=', owner)
  if (set !== undefined) query = query.where('set_name', '=', set)
  if (contains !== undefined) {
    const text = sql<string>`lower(name || ${'\n'} || coalesce(spec ->> 'display_name', ''))`
    const pattern = `%${contains.replace(/[%_\\]/g, '\\$&')}%`
    query = query.where(sql<boolean>`${text} like lower(${pattern}) escape ${'\\'}`)
  }
  if (after !== undefined) query = query.where('name', '>', after)
  if (limit !== undefined) query = query.limit(limit)
  for (const [field, value] of Object.entries(where)) {
    query = query.where(sql<boolean>`spec ->> ${field} = ${value}`)
  }
  return (await query.execute()).map(fromRow)
}
