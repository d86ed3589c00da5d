import { z } from 'zod'
import { duration, name } from '../scalars.ts'
import { MAX_TOKEN_MS, TOKEN_SCOPES, tokenName } from '../token.ts'
import { ROLES, userName } from '../user.ts'
import { pageOf, pageQuery, time } from './shapes.ts'
import type { Operation } from './types.ts'

const token = z
  .strictObject({
    id: z.string(),
    name: tokenName,
    user: userName.describe('The owner.'),
    role: z.enum(ROLES),
    tenant: z.string().optional().describe('Only for the role `tenant`.'),
    scope: z.enum(TOKEN_SCOPES),
    created_at: time,
    expires_at: time,
    last_used_at: time.optional().describe('Precise to the minute; absent if never used.'),
  })
  .meta({ id: 'token', description: 'A personal access token; never the token itself.' })

const issued = token
  .safeExtend({
    token: z.string().describe('Send it as `authorization: Bearer …`. Shown only once.'),
  })
  .meta({ id: 'issued_token', description: 'A new personal access token.' })

export const tokenOperations = {
  list_tokens: {
    method: 'GET',
    path: '/tokens',
    tag: 'tokens',
    summary: 'List tokens',
    description: 'Administrators see all tokens, other users their own.',
    query: pageQuery.extend({ user: userName.optional().describe('Only tokens of this user.') }),
    answer: { status: 200, description: 'Sorted by id.', schema: pageOf(token) },
  },
  create_token: {
    method: 'POST',
    path: '/tokens',
    tag: 'tokens',
    summary: 'Create a token',
    description:
      'For scripts and CI: the token gives access to this API with `authorization: Bearer` until it expires or is revoked. Requires a session; an administrator may bind the token to one tenant.',
    body: z
      .strictObject({
        name: tokenName.describe('Its purpose; unique per user.'),
        scope: z.enum(TOKEN_SCOPES).default('read').describe('`read`: no changes.'),
        tenant: name.optional().describe('Restricts the token to the resources of this tenant.'),
        expires_in: duration({ minMs: 60_000, maxMs: MAX_TOKEN_MS })
          .prefault('90d')
          .describe('How long it is valid; at most 366 days.'),
      })
      .meta({ id: 'new_token' }),
    answer: { status: 201, description: 'The token.', schema: issued },
    errors: ['already_exists'],
    needsSession: true,
  },
  revoke_token: {
    method: 'DELETE',
    path: '/tokens/{name}',
    tag: 'tokens',
    summary: 'Revoke a token',
    params: z.strictObject({ name: z.string().min(1).max(64).describe('The `id` of the token.') }),
    answer: { status: 204, description: 'The token is revoked.' },
    target: 'token',
  },
} as const satisfies Record<string, Operation>
