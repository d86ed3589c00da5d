import type { Kysely } from 'kysely'
import { CommandError } from '../base/catalogue/command.ts'
import { decode, type Resource } from '../schema/kinds.ts'
import { addressOf } from '../schema/node.ts'
import { type StoredCredential, storedCredential, storedFor } from '../schema/stored-credential.ts'
import type { Tables } from './tables.ts'

/** All stored credentials, sealed. */
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
 * Applies a commit to stored credentials: `given` ones replace those of the same use, and those of an endpoint that was
 * deleted, or no longer refers to one, are deleted. A credential for a former origin of an endpoint stays for a
 * rollback, as long as the endpoint still refers to a stored one.
 * @throws {CommandError} not_servable if an endpoint refers to a credential that is not stored.
 */
export async function applyToStored(
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
  const stored = new Set<string>()
  for (const { id, boundTo } of await selectStored(db)) {
    if (uses.has(ownerOf(boundTo))) stored.add(boundTo)
    else await db.deleteFrom('stored_secrets').where('id', '=', id).execute()
  }
  const missing = [...uses.values()].filter(({ boundTo }) => !stored.has(boundTo))
  const [first] = missing
  if (!first) return
  throw new CommandError('not_servable', missing.map(({ sentence }) => sentence).join('\n'), {
    hint: 'A credential that was set over REST is deleted with its endpoint: set it again over REST. Nothing was changed.',
  })
}

interface Use {
  /** `endpoint/NAME`. */
  readonly owner: string
  readonly boundTo: string
  readonly sentence: string
}

/** The stored credential that an endpoint needs. */
export function useOf({ kind, name, spec }: Resource): Use | undefined {
  if (kind !== 'endpoint' || !storedCredential.safeParse(spec['upstream_key']).success) return undefined
  const { base_url, nodes } = decode('endpoint', spec)
  const destination = nodes ? 'its nodes' : new URL(addressOf({ base_url })).origin
  return {
    owner: `endpoint/${name}`,
    boundTo: storedFor(name, { base_url, nodes }),
    sentence: `endpoint ${name}: no credential is stored for ${destination}`,
  }
}

/** Names contain no spaces. */
function ownerOf(boundTo: string): string {
  return boundTo.split(' ', 1)[0] ?? ''
}
