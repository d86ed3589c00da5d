import { CommandError } from '../../base/catalogue/command.ts'
import type { Fields } from '../../schema/api/reshape.ts'
import { userPlace } from '../../schema/user.ts'
import { invalid } from '../../services/invalid.ts'
import {
  createUser,
  endUserSessions,
  listUsers,
  resetPassword,
  showUser,
  type UserShown,
  updateUser,
} from '../../services/users.ts'
import type { User, UserChange } from '../../store/users/types.ts'
import type { HandlersOf } from '../call.ts'
import { patched } from '../merge-patch.ts'
import { checked } from '../reading.ts'

type Ids = 'list_users' | 'create_user' | 'get_user' | 'update_user' | 'reset_password' | 'end_user_sessions'

export const userHandlers: HandlersOf<Ids> = {
  async list_users({ query, context }) {
    return { body: await listUsers(context, query) }
  },
  async create_user({ body: { password, ...newUser }, context }) {
    return reply(await withKnownTenant(() => createUser(context, newUser, async () => password)))
  },
  async get_user({ params, context }) {
    return reply(await showUser(context, params))
  },
  async update_user({ params, json, version, context }) {
    // Outside: of a missing user the path is wrong, not the body.
    const { name } = await showUser(context, params)
    const edit = (before: User) => changeOf(before, json)
    return reply(await withKnownTenant(() => updateUser(context, { name, version }, edit)))
  },
  async reset_password({ params, body, context }) {
    await resetPassword(context, params, async () => body.password)
    return { body: undefined }
  },
  async end_user_sessions({ params, context }) {
    await endUserSessions(context, params)
    return { body: undefined }
  },
}

function reply(body: UserShown) {
  return { body, etag: body.version }
}

/** Converts a merge patch to a change: role and tenant change together. @throws {ApiError} invalid_request */
function changeOf({ role, tenant }: User, { enabled, ...patch }: Fields): UserChange {
  const change = typeof enabled === 'boolean' ? { enabled } : {}
  if (Object.keys(patch).length === 0) return change
  const place = checked(userPlace, patched({ role, ...(tenant !== undefined && { tenant }) }, patch))
  return {
    ...change,
    place: { role: place.role, ...(place.tenant !== undefined && { tenant: place.tenant }) },
  }
}

/** An unknown tenant is an error of the body, not of the path. */
async function withKnownTenant(work: () => Promise<UserShown>): Promise<UserShown> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof CommandError) || error.code !== 'not_found') throw error
    throw invalid([{ pointer: '/tenant', detail: error.message }])
  }
}
