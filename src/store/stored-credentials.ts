import type { Kysely } from 'kysely'
import { CommandError } from '../base/catalogue/command.ts'
import type { Resource } from '../schema/kinds.ts'
import { type StoredCredential, storedCredential, storedFor } from '../schema/stored-credential.ts'
import type { Tables } from './tables.ts'

/** All secrets that are kept, as they are sealed. */
export async function selectStored(db: Kysely<Tables>): Promise<StoredCredential[]> {
  const rows = await db.selectFrom('stored_secrets').selectAll().orderBy('bound_to').execute()
  return rows.map(row => ({
    id: row.id,
    boundTo: row.bound_to,
    nonce: row.nonce,
    sealed: row.sealed,
    createdAtMs: row.created_at_ms,
  }))
}

/**
 * What a commit means for kept secrets: `given` ones replace those of the same use, and those of an endpoint that has
 * gone, or keeps none any more, go with it. What was given for an origin that an endpoint has left stays for a
 * roll-back, as long as the endpoint keeps one at all.
 *
 * @throws {CommandError} GW3002 where an endpoint would stand without what it refers to.
 */
export async function settleStored(
  db: Kysely<Tables>,
  given: readonly StoredCredential[],
  after: readonly Resource[],
): Promise<void> {
  for (const { id, boundTo, nonce, sealed, createdAtMs } of given) {
    await db.deleteFrom('stored_secrets').where('bound_to', '=', boundTo).execute()
    const bytes = { nonce: Buffer.from(nonce), sealed: Buffer.from(sealed) }
    await db
      .insertInto('stored_secrets')
      .values({ id, bound_to: boundTo, ...bytes, created_at_ms: createdAtMs })
      .execute()
  }
  const uses = new Map(after.flatMap(resource => useOf(resource) ?? []).map(use => [use.owner, use]))
  const standing = new Set<string>()
  for (const { id, boundTo } of await selectStored(db)) {
    if (uses.has(ownerOf(boundTo))) standing.add(boundTo)
    else await db.deleteFrom('stored_secrets').where('id', '=', id).execute()
  }
  const missing = [...uses.values()].filter(({ boundTo }) => !standing.has(boundTo))
  const [first] = missing
  if (!first) return
  throw new CommandError('GW3002', missing.map(({ sentence }) => sentence).join('\n'), {
    hint: 'A credential that was given over REST goes with its endpoint: give it again there. Nothing was changed.',
  })
}

interface Use {
  /** `endpoint/NAME`. */
  readonly owner: string
  readonly boundTo: string
  readonly sentence: string
}

function useOf({ kind, name, spec }: Resource): Use | undefined {
  const { upstream_key: reference, base_url: url } = spec
  if (kind !== 'endpoint' || typeof url !== 'string' || !storedCredential.safeParse(reference).success)
    return undefined
  return {
    owner: `endpoint/${name}`,
    boundTo: storedFor(name, url),
    sentence: `endpoint ${name}: no credential is kept for ${new URL(url).origin}`,
  }
}

/** Names hold no spaces. */
function ownerOf(boundTo: string): string {
  return boundTo.split(' ', 1)[0] ?? ''
}
