import { z } from 'zod'
import { duration, name } from '../scalars.ts'
import { LONGEST_TOKEN_MS, TOKEN_SCOPES, tokenName } from '../token.ts'
import { ROLES, userName } from '../user.ts'
import { pageOf, pageQuery, time } from './shapes.ts'
import type { Operation } from './types.ts'

const token = z
  .strictObject({
    id: z.string(),
    name: tokenName,
    user: userName.describe('Whose it is.'),
    role: z.enum(ROLES),
    tenant: z.string().optional().describe('Of the role `tenant`.'),
    scope: z.enum(TOKEN_SCOPES),
    created_at: time,
    expires_at: time,
    last_used_at: time.optional().describe('To the minute; absent where it was never used.'),
  })
  .meta({ id: 'token', description: 'A personal access token; never the token itself.' })

const issued = token
  .safeExtend({
    token: z.string().describe('To be sent as `authorization: Bearer …`. Shown this once.'),
  })
  .meta({ id: 'issued_token', description: 'A personal access token that was just made.' })

export const tokenOperations = {
  list_tokens: {
    method: 'GET',
    path: '/tokens',
    tag: 'tokens',
    summary: 'List tokens',
    description: 'An administrator sees those of everybody, others their own.',
    query: pageQuery.extend({ user: userName.optional().describe('Only those of this user.') }),
    answer: { status: 200, description: 'By id.', schema: pageOf(token) },
  },
  create_token: {
    method: 'POST',
    path: '/tokens',
    tag: 'tokens',
    summary: 'Make a token',
    description:
      'For scripts and CI: it opens this API by `authorization: Bearer` until it expires or is revoked. Made by a session only; an administrator may bind it to one tenant.',
    body: z
      .strictObject({
        name: tokenName.describe('What it is for; one of a name for each user.'),
        scope: z.enum(TOKEN_SCOPES).default('read').describe('`read`: asks and changes nothing.'),
        tenant: name.optional().describe('Makes it see and do only what is this tenant’s.'),
        expires_in: duration({ minMs: 60_000, maxMs: LONGEST_TOKEN_MS })
          .prefault('90d')
          .describe('For how long it is good; at most 366 days.'),
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
    params: z.strictObject({ name: z.string().min(1).max(64).describe('Its id, as the list says it.') }),
    answer: { status: 204, description: 'It opens nothing any more.' },
    target: 'token',
  },
} as const satisfies Record<string, Operation>
