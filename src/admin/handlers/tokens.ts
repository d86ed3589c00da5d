import { newToken } from '../../base/access-token.ts'
import { keyDigest } from '../../base/api-key.ts'
import { ApiError } from '../../base/catalogue/api.ts'
import { CommandError } from '../../base/catalogue/command.ts'
import { iso } from '../../base/iso.ts'
import type { StoredToken } from '../../store/users/types.ts'
import type { Caller, HandlersOf } from '../call.ts'
import { pageOf } from '../paging.ts'
import type { UseCasePorts } from '../ports.ts'
import { invalid } from '../reading.ts'

type Ids = 'list_tokens' | 'create_token' | 'revoke_token'

export function tokenHandlers({
  store,
  random,
  clock,
}: Pick<UseCasePorts, 'store' | 'random' | 'clock'>): HandlersOf<Ids> {
  return {
    async list_tokens({ query, caller }) {
      const user = ownerOf(caller) ?? query.user
      const read = (limit: number, after: string | undefined) =>
        store.users.tokens({
          limit,
          ...(after !== undefined && { after }),
          ...(user !== undefined && { user }),
        })
      return { body: await pageOf(query, read, token => token.id, tokenBody) }
    },
    async create_token({ body: { name, scope, tenant, expires_in: spanMs }, caller, store: changing }) {
      const { id, token } = newToken(random)
      try {
        const stored = await changing.users.createToken({
          id,
          digest: keyDigest(token),
          user: caller.name,
          name,
          scope,
          ...(tenant !== undefined && { tenant }),
          expiresAtMs: clock.nowMs() + spanMs,
        })
        return { body: { ...tokenBody(stored), token }, target: `token/${id}` }
      } catch (error) {
        throw asApiError(error)
      }
    },
    async revoke_token({ params, caller, store: changing }) {
      const revoked = await changing.users.revokeToken(params.name, ownerOf(caller))
      if (!revoked) throw new ApiError('not_found', `There is no token ${params.name}.`)
      return { body: undefined, target: `token/${params.name}` }
    },
  }
}

/** The only owner whose tokens a caller sees; undefined: all. */
function ownerOf({ scope, name }: Caller): string | undefined {
  return scope === 'all' ? undefined : name
}

function asApiError(error: unknown): unknown {
  if (!(error instanceof CommandError)) return error
  if (error.code === 'already_exists') return new ApiError('already_exists', error.message)
  const isTenants = error.code === 'not_found' || error.code === 'usage'
  return isTenants ? invalid([{ pointer: '/tenant', detail: error.message }]) : error
}

function tokenBody({ createdAtMs, expiresAtMs, usedAtMs, ...token }: StoredToken) {
  return {
    ...token,
    created_at: iso(createdAtMs),
    expires_at: iso(expiresAtMs),
    ...(usedAtMs !== undefined && { last_used_at: iso(usedAtMs) }),
  }
}
