import { z } from 'zod'
import { CARRIERS, password, ROLES, userName } from '../user.ts'
import { time } from './shapes.ts'
import type { Operation } from './types.ts'

const session = z
  .strictObject({
    user: z.strictObject({
      name: userName,
      role: z.enum(ROLES),
      tenant: z.string().optional().describe('Only for the role `tenant`.'),
    }),
    may: z.array(z.string()).describe('The ids of the operations that this session may call.'),
    carrier: z.enum(CARRIERS),
    csrf_token: z
      .string()
      .optional()
      .describe('Only for cookies: send it as `x-csrf-token` with each change.'),
    created_at: time,
    idle_expires_at: time.describe('The end of the session if it is not used.'),
    expires_at: time.describe('The end of the session in any case.'),
    gateway_url: z
      .string()
      .optional()
      .describe('The address that a gateway of the store listens at; in the answer about this session.'),
    currency: z.string().optional().describe('Of prices and amounts; in the answer about this session.'),
  })
  .meta({ id: 'session', description: 'A session and its user.' })

const opened = session
  .safeExtend({
    token: z
      .string()
      .optional()
      .describe('Only for `bearer`: send it as `authorization: Bearer …`. Shown only once.'),
  })
  .meta({ id: 'opened_session', description: 'A new session.' })

export const sessionOperations = {
  log_in: {
    method: 'POST',
    path: '/session',
    tag: 'session',
    summary: 'Log in',
    description:
      'For scripts: a token for `authorization: Bearer`. With `carrier: cookie`, for browsers: a cookie that no script can read, and a token for `x-csrf-token`. Each is accepted only in its own form.',
    body: z
      .strictObject({
        username: z.string().min(1).max(64),
        password: z.string().min(1).max(256).meta({ format: 'password' }),
        carrier: z.enum(CARRIERS).default('bearer').describe('How requests carry the session.'),
      })
      .meta({ id: 'log_in' }),
    answer: { status: 201, description: 'Logged in.', schema: opened },
    errors: ['wrong_credentials', 'too_many_attempts', 'busy'],
  },
  log_in_by_link: {
    method: 'POST',
    path: '/session/link',
    tag: 'session',
    summary: 'Log in with a one-time link',
    description: 'With the token of `gw users link`, once.',
    body: z
      .strictObject({
        link: z.string().min(1).max(128).meta({ format: 'password' }),
        carrier: z.enum(CARRIERS).default('bearer').describe('How requests carry the session.'),
      })
      .meta({ id: 'log_in_by_link' }),
    answer: { status: 201, description: 'Logged in.', schema: opened },
    errors: ['wrong_credentials'],
  },
  get_session: {
    method: 'GET',
    path: '/session',
    tag: 'session',
    summary: 'Show this session',
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
    summary: 'Change your own password',
    description: 'Ends every session of this user, including this one.',
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
