import { type Kysely, sql } from 'kysely'
import { selectHolds, selectSecrets } from './key-secrets.ts'
import { fromRow } from './resources.ts'
import type { Tables } from './tables.ts'
import type { Live, ResourceQuery } from './types.ts'

/** What a query asks for, by name. Reads nothing else: the rest may be large. */
export async function findResources(
  db: Kysely<Tables>,
  { kind, name, where = {}, after, limit }: ResourceQuery,
): Promise<Pick<Live, 'resources' | 'secrets' | 'holds'>> {
  let query = db.selectFrom('resources').selectAll().where('kind', '=', kind).orderBy('name')
  if (name !== undefined) query = query.where('name', '=', name)
  if (after !== undefined) query = query.where('name', '>', after)
  if (limit !== undefined) query = query.limit(limit)
  for (const [field, value] of Object.entries(where)) {
    query = query.where(sql<boolean>`json_extract(spec, ${`$.${field}`}) = ${value}`)
  }
  const resources = (await query.execute()).map(fromRow)
  const keys = kind === 'key' ? resources.map(resource => resource.name) : []
  if (keys.length === 0) return { resources, secrets: [], holds: [] }
  return { resources, secrets: await selectSecrets(db, keys), holds: await selectHolds(db, keys) }
}
