import { z } from 'zod'
import { CARRIERS, password, ROLES, userName } from '../user.ts'
import { time } from './shapes.ts'
import type { Operation } from './types.ts'

const session = z
  .strictObject({
    user: z.strictObject({
      name: userName,
      role: z.enum(ROLES),
      tenant: z.string().optional().describe('Of the role `tenant`.'),
    }),
    carrier: z.enum(CARRIERS),
    csrf_token: z.string().optional().describe('Of a cookie: to be sent as `x-csrf-token` with each change.'),
    created_at: time,
    idle_expires_at: time.describe('Unless it is used before.'),
    expires_at: time.describe('Whatever happens.'),
  })
  .meta({ id: 'session', description: 'Who is logged in, and until when.' })

const opened = session
  .safeExtend({
    token: z
      .string()
      .optional()
      .describe('Of a bearer: to be sent as `authorization: Bearer …`. Shown this once.'),
  })
  .meta({ id: 'opened_session', description: 'A session that was just opened.' })

export const sessionOperations = {
  log_in: {
    method: 'POST',
    path: '/session',
    tag: 'session',
    summary: 'Log in',
    description:
      'For scripts: a token for `authorization: Bearer`. With `carrier: cookie`, for browsers: a cookie that no script can read, and a token for `x-csrf-token`. Each opens its own surface only.',
    body: z
      .strictObject({
        username: z.string().min(1).max(64),
        password: z.string().min(1).max(256).meta({ format: 'password' }),
        carrier: z.enum(CARRIERS).default('bearer').describe('How the session is to be carried.'),
      })
      .meta({ id: 'log_in' }),
    answer: { status: 201, description: 'Logged in.', schema: opened },
    errors: ['wrong_credentials', 'too_many_attempts', 'busy'],
  },
  get_session: {
    method: 'GET',
    path: '/session',
    tag: 'session',
    summary: 'Who is logged in',
    answer: { status: 200, description: 'This session.', schema: session },
  },
  log_out: {
    method: 'DELETE',
    path: '/session',
    tag: 'session',
    summary: 'Log out',
    answer: { status: 204, description: 'This session has ended.' },
    needsSession: true,
  },
  log_out_everywhere: {
    method: 'DELETE',
    path: '/sessions',
    tag: 'session',
    summary: 'Log out everywhere',
    answer: { status: 204, description: 'Every session of this user has ended.' },
    needsSession: true,
  },
  change_password: {
    method: 'PUT',
    path: '/session/password',
    tag: 'session',
    summary: 'Change the own password',
    description: 'Ends every session of this user, this one as well.',
    body: z
      .strictObject({
        current_password: z.string().min(1).max(256).meta({ format: 'password' }),
        new_password: password,
      })
      .meta({ id: 'password_change' }),
    answer: { status: 204, description: 'The password is changed.' },
    needsSession: true,
    errors: ['wrong_credentials', 'too_many_attempts', 'busy'],
  },
} as const satisfies Record<string, Operation>
