import { newToken } from '../base/access-token.ts'
import { keyDigest } from '../base/api-key.ts'
import { CommandError } from '../base/catalogue/command.ts'
import { iso } from '../base/iso.ts'
import type { OperationOf } from '../schema/api/operations.ts'
import type { AnswerOf } from '../schema/api/types.ts'
import { MAX_TOKEN_MS, type TokenScope, tokenName } from '../schema/token.ts'
import type { StoredToken, TokenOwner } from '../store/users/types.ts'
import { record } from './audit.ts'
import type { Actor, Context } from './context.ts'
import { type Page, type PageQuery, pageOf } from './paging.ts'

type IssuedToken = AnswerOf<OperationOf<'create_token'>>

/** The document of a personal access token; never the token itself. */
export type TokenShown = Omit<IssuedToken, 'token'>

/** A personal access token to create. */
export interface WantedToken {
  readonly name: string
  /** The owner of the token. */
  readonly user: string
  readonly scope: TokenScope
  /** For an administrator: binds the token to one tenant. */
  readonly tenant?: string | undefined
  readonly spanMs: number
}

/** Tokens by id. Who is bound to a tenant sees those of their own that are bound to it as well. */
export function listTokens(
  { store, actor }: Context,
  query: PageQuery & { readonly user?: string | undefined },
): Promise<Page<TokenShown>> {
  const owner = onlyOwner(actor) ?? (query.user === undefined ? {} : { user: query.user })
  return pageOf(
    query,
    (limit, after) =>
      store.users.tokens({
        limit,
        ...(after !== undefined && { after }),
        ...owner,
      }),
    token => token.id,
    shown,
  )
}

/** @throws {CommandError} not_found if the user or the tenant does not exist, already_exists if the name is taken, usage */
export async function createToken(
  context: Context,
  { spanMs, tenant, ...wanted }: WantedToken,
): Promise<IssuedToken> {
  const [issue] = tokenName.safeParse(wanted.name).error?.issues ?? []
  if (issue) throw new CommandError('usage', `A token’s name has ${issue.message}.`)
  if (spanMs < 60_000 || spanMs > MAX_TOKEN_MS)
    throw new CommandError('usage', 'A token must be valid for 1 minute to 366 days.')
  context.signal.throwIfAborted()
  const { id, token } = newToken(context.random)
  const stored = await context.store.users.createToken({
    ...wanted,
    ...(tenant !== undefined && { tenant }),
    id,
    digest: keyDigest(token),
    expiresAtMs: context.clock.nowMs() + spanMs,
  })
  await record(context, { action: 'create_token', target: `token/${id}` })
  return { ...shown(stored), token }
}

/** @throws {CommandError} not_found if the actor sees no such token. */
export async function revokeToken(context: Context, { id }: { readonly id: string }): Promise<void> {
  context.signal.throwIfAborted()
  if (!(await context.store.users.revokeToken(id, onlyOwner(context.actor)))) {
    throw new CommandError('not_found', `There is no token ${id}.`, { hint: '`gw tokens list` shows all.' })
  }
  await record(context, { action: 'revoke_token', target: `token/${id}` })
}

/** The only tokens that the actor sees; undefined: all. An administrator’s token may be bound to a tenant. */
function onlyOwner({ tenant, name }: Actor): TokenOwner | undefined {
  return tenant === undefined ? undefined : { ...(name !== undefined && { user: name }), tenant }
}

function shown(stored: StoredToken): TokenShown {
  const { id, name, user, role, tenant, scope, createdAtMs, expiresAtMs, usedAtMs } = stored
  return {
    id,
    name,
    user,
    role,
    ...(tenant !== undefined && { tenant }),
    scope,
    created_at: iso(createdAtMs),
    expires_at: iso(expiresAtMs),
    ...(usedAtMs !== undefined && { last_used_at: iso(usedAtMs) }),
  }
}
