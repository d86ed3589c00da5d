import { ApiError } from '../../base/catalogue/api.ts'
import { CommandError } from '../../base/catalogue/command.ts'
import { iso } from '../../base/iso.ts'
import type { Fields } from '../../schema/api/reshape.ts'
import { userPlace } from '../../schema/user.ts'
import type { User, UserChange, UserStoreReads } from '../../store/users/types.ts'
import type { HandlersOf } from '../call.ts'
import { pageOf } from '../paging.ts'
import type { UseCasePorts } from '../ports.ts'
import { checked, invalid } from '../reading.ts'
import { patched } from '../resources.ts'

type Ids = 'list_users' | 'create_user' | 'get_user' | 'update_user' | 'reset_password' | 'end_user_sessions'

export function userHandlers({ store, hasher }: UseCasePorts): HandlersOf<Ids> {
  const { users } = store
  return {
    async list_users({ query }) {
      const read = (limit: number, after: string | undefined) =>
        users.users({ limit, ...(after !== undefined && { after }) })
      return { body: await pageOf(query, read, user => user.name, userBody) }
    },
    async create_user({ body: { name, password, role, tenant }, store: changing }) {
      if (await users.user(name)) throw new ApiError('already_exists', `There is a user ${name} already.`)
      const passwordHash = await hasher.hash(password)
      const place = { role, ...(tenant !== undefined && { tenant }) }
      const user = await withKnownTenant(() => changing.users.createUser({ name, passwordHash, ...place }))
      return { body: userBody(user), etag: user.version, target: `user/${name}` }
    },
    async get_user({ params }) {
      const user = await findUser(users, params.name)
      return { body: userBody(user), etag: user.version }
    },
    async update_user({ params, json, version, store: changing, markUnchanged }) {
      const before = await findUser(users, params.name)
      const change = changeOf(before, json)
      const user = await withKnownTenant(() => changing.users.changeUser(params.name, change, version))
      if (user.version === before.version) markUnchanged()
      return { body: userBody(user), etag: user.version }
    },
    async reset_password({ params, body, store: changing }) {
      await findUser(users, params.name)
      await changing.users.setPassword(params.name, await hasher.hash(body.password))
      return { body: undefined }
    },
    async end_user_sessions({ params, store: changing, markUnchanged }) {
      if ((await changing.users.endSessions(params.name)) === 0) markUnchanged()
      return { body: undefined }
    },
  }
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

async function findUser(users: UserStoreReads, name: string): Promise<User> {
  const user = await users.user(name)
  if (user) return user
  throw new ApiError('not_found', `There is no user ${name}.`)
}

/** An unknown tenant is an error of the body, not of the path. */
async function withKnownTenant(work: () => Promise<User>): Promise<User> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof CommandError) || error.code !== 'not_found') throw error
    throw invalid([{ pointer: '/tenant', detail: error.message }])
  }
}

function userBody({ createdAtMs, lastLoginAtMs, ...user }: User) {
  return {
    ...user,
    created_at: iso(createdAtMs),
    ...(lastLoginAtMs !== undefined && { last_login_at: iso(lastLoginAtMs) }),
  }
}
