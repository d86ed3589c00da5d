import { z } from 'zod'
import { password, ROLES, userName, userPlace } from '../user.ts'
import { patchOf } from './reshape.ts'
import { pageOf, pageQuery, time } from './shapes.ts'
import type { Operation } from './types.ts'

const user = z
  .strictObject({
    name: userName,
    role: z.enum(ROLES),
    tenant: z.string().optional(),
    enabled: z.boolean(),
    sessions: z.int().describe('The number of open sessions.'),
    created_at: time,
    last_login_at: time.optional(),
    version: z.int().describe('Grows with each change; its `etag`.'),
  })
  .meta({ id: 'user', description: 'A user of the control plane.' })

const params = z.strictObject({ name: userName.describe('The user.') })

export const userOperations = {
  list_users: {
    method: 'GET',
    path: '/users',
    tag: 'users',
    summary: 'List users',
    query: pageQuery,
    answer: { status: 200, description: 'Sorted by name.', schema: pageOf(user) },
  },
  create_user: {
    method: 'POST',
    path: '/users',
    tag: 'users',
    summary: 'Create a user',
    body: userPlace.safeExtend({ name: userName, password }).meta({ id: 'new_user' }),
    answer: { status: 201, description: 'The user.', schema: user, etag: true },
    errors: ['already_exists', 'busy'],
  },
  get_user: {
    method: 'GET',
    path: '/users/{name}',
    tag: 'users',
    summary: 'Show a user',
    params,
    answer: { status: 200, description: 'The user.', schema: user, etag: true },
  },
  update_user: {
    method: 'PATCH',
    path: '/users/{name}',
    tag: 'users',
    summary: 'Change a user',
    description: 'Disabling a user, or changing its role or tenant, ends its sessions.',
    params,
    body: patchOf({
      ...userPlace.shape,
      enabled: z.boolean().describe('False: the user cannot log in.'),
    }).meta({
      id: 'user_patch',
    }),
    answer: { status: 200, description: 'The user.', schema: user, etag: true },
    errors: ['last_admin'],
    ifMatch: 'required',
  },
  reset_password: {
    method: 'PUT',
    path: '/users/{name}/password',
    tag: 'users',
    summary: 'Set a new password',
    description: 'Ends every session of the user.',
    params,
    body: z.strictObject({ password }).meta({ id: 'new_password' }),
    answer: { status: 204, description: 'The password is set.' },
    errors: ['busy'],
  },
  end_user_sessions: {
    method: 'DELETE',
    path: '/users/{name}/sessions',
    tag: 'users',
    summary: 'Log a user out everywhere',
    params,
    answer: { status: 204, description: 'Every session of the user has ended.' },
  },
} as const satisfies Record<string, Operation>
