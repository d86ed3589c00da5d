import { newLoginLink } from '../base/access-token.ts'
import { keyDigest } from '../base/api-key.ts'
import { CommandError } from '../base/catalogue/command.ts'
import { iso } from '../base/iso.ts'
import type { Log } from '../base/log.ts'
import type { PasswordHasher } from '../base/password.ts'
import type { OperationOf } from '../schema/api/operations.ts'
import type { AnswerOf } from '../schema/api/types.ts'
import { password as passwordSchema, type Role, userName, userPlace } from '../schema/user.ts'
import type { Store } from '../store/types.ts'
import type { User, UserChange } from '../store/users/types.ts'
import { record } from './audit.ts'
import type { Context } from './context.ts'
import { didYouMean, existingNames } from './names.ts'
import { type Page, type PageQuery, pageOf } from './paging.ts'

const FIRST_PASSWORD_VARIABLE = 'GW_ADMIN_PASSWORD'
const FIRST_ADMIN = 'admin'

/** A user to create. */
export interface NewUser {
  readonly name: string
  readonly role: Role
  readonly tenant?: string | undefined
}

/** The document of a user of the control plane. */
export type UserShown = AnswerOf<OperationOf<'get_user'>>

/** Users by name. */
export function listUsers({ store }: Context, query: PageQuery): Promise<Page<UserShown>> {
  return pageOf(
    query,
    (limit, after) => store.users.users({ limit, ...(after !== undefined && { after }) }),
    user => user.name,
    shown,
  )
}

/** @throws {CommandError} not_found */
export async function showUser(context: Context, { name }: { readonly name: string }): Promise<UserShown> {
  return shown(await findUser(context, name))
}

/**
 * Creates a user of the control plane.
 *
 * @param askPassword is called after all other checks have passed.
 * @throws {CommandError} not_found if the tenant does not exist, already_exists if the name is taken, usage
 */
export async function createUser(
  context: Context,
  { name, role, tenant }: NewUser,
  askPassword: () => Promise<string>,
): Promise<UserShown> {
  const { store, signal } = context
  const place = { role, ...(tenant !== undefined && { tenant }) }
  assertValid('user name', userName.safeParse(name))
  assertValid('role', userPlace.safeParse(place))
  signal.throwIfAborted()
  if (await store.users.user(name)) {
    throw new CommandError('already_exists', `There is a user ${name} already.`, {
      hint: `Set a new password with \`gw users reset-password ${name}\`, or choose another name.`,
    })
  }
  if (tenant !== undefined && (await store.find({ kind: 'tenant', name: tenant })).resources.length === 0) {
    const live = await store.find({ kind: 'tenant' })
    const hint = didYouMean(live, 'tenant', tenant) ?? existingNames(live, 'tenant')
    throw new CommandError('not_found', `There is no tenant ${tenant}.`, { hint })
  }
  const passwordHash = await hashed(context, askPassword)
  const user = await store.users.createUser({ name, passwordHash, ...place })
  await record(context, { action: 'create_user', target: `user/${name}` })
  return shown(user)
}

/**
 * Creates the user `admin` with the password of `GW_ADMIN_PASSWORD` if there is no user yet. Otherwise the variable is
 * ignored: a restart must not restore a password that was changed since.
 * @throws {CommandError} usage if the password is too short or too long.
 */
export async function makeFirstAdmin(
  store: Store,
  hasher: Pick<PasswordHasher, 'hash'>,
  ports: { readonly environment: Readonly<Record<string, string | undefined>>; readonly log: Log },
): Promise<void> {
  if ((await store.users.users({ limit: 1 })).length > 0) return
  const password = ports.environment[FIRST_PASSWORD_VARIABLE]
  if (!password) {
    ports.log.info(
      `the control plane has no user yet: run gw users create, or set ${FIRST_PASSWORD_VARIABLE}`,
    )
    return
  }
  if (!passwordSchema.safeParse(password).success) {
    throw new CommandError('usage', `${FIRST_PASSWORD_VARIABLE} must have 8 to 256 characters.`, {
      hint: `Set another password, or unset it and run \`gw users create ${FIRST_ADMIN} --role admin\`.`,
    })
  }
  const passwordHash = await hasher.hash(password)
  try {
    await store.users.createUser({ name: FIRST_ADMIN, role: 'admin', passwordHash })
  } catch (error) {
    // Another gateway of the store has started at the same time.
    if (error instanceof CommandError && error.code === 'already_exists') return
    throw error
  }
  const actor = { origin: 'cli', name: FIRST_ADMIN, role: 'admin' } as const
  const change = { action: 'create_first_admin', target: `user/${FIRST_ADMIN}` } as const
  await record({ actor, auditLog: store.users }, change)
  ports.log.info({ user: FIRST_ADMIN }, 'created the first administrator')
}

/**
 * Changes a user; a disabled user, and one with another role or tenant, loses its sessions.
 *
 * @param version the expected version; absent: any.
 * @throws {CommandError} revision_changed at another version, not_found, last_admin if no administrator would be left.
 */
export async function updateUser(
  context: Context,
  { name, version }: { readonly name: string; readonly version?: number | undefined },
  edit: (before: User) => UserChange,
): Promise<UserShown> {
  context.signal.throwIfAborted()
  const before = await findUser(context, name)
  const user = await context.store.users.changeUser(name, edit(before), version)
  if (user.version !== before.version)
    await record(context, { action: 'update_user', target: `user/${name}` })
  return shown(user)
}

/**
 * Sets a new password, which ends every session of the user.
 *
 * @param askPassword is called after the user was found.
 * @throws {CommandError} not_found, usage
 */
export async function resetPassword(
  context: Context,
  { name }: { readonly name: string },
  askPassword: () => Promise<string>,
): Promise<void> {
  context.signal.throwIfAborted()
  await findUser(context, name)
  await context.store.users.setPassword(name, await hashed(context, askPassword))
  await record(context, { action: 'reset_password', target: `user/${name}` })
}

/** Ends every session of a user. @throws {CommandError} not_found */
export async function endUserSessions(context: Context, { name }: { readonly name: string }): Promise<void> {
  const ended = await context.store.users.endSessions(name)
  if (ended > 0) await record(context, { action: 'end_user_sessions', target: `user/${name}` })
}

async function findUser({ store }: Context, name: string): Promise<User> {
  const user = await store.users.user(name)
  if (user) return user
  throw new CommandError('not_found', `There is no user ${name}.`, { hint: '`gw users list` shows all.' })
}

async function hashed({ hasher, signal }: Context, askPassword: () => Promise<string>): Promise<string> {
  const password = await askPassword()
  assertValid('password', passwordSchema.safeParse(password))
  const hash = await hasher.hash(password)
  signal.throwIfAborted()
  return hash
}

/** The error names the rule, never the value. */
function assertValid(
  what: string,
  result: { readonly error?: { readonly issues: readonly { readonly message: string }[] } | undefined },
): void {
  const [issue] = result.error?.issues ?? []
  if (issue) throw new CommandError('usage', `Invalid ${what}: ${issue.message}.`)
}

function shown(user: User): UserShown {
  const { name, role, tenant, enabled, sessions, createdAtMs, lastLoginAtMs, version } = user
  return {
    name,
    role,
    ...(tenant !== undefined && { tenant }),
    enabled,
    sessions,
    created_at: iso(createdAtMs),
    ...(lastLoginAtMs !== undefined && { last_login_at: iso(lastLoginAtMs) }),
    version,
  }
}

/** How long a log-in link is valid by default. */
const LINK_MS = 10 * 60_000

/** A one-time log-in link of a user: its token belongs into the fragment of the console's address. */
export async function createLoginLink(
  context: Context,
  { name, spanMs = LINK_MS }: { readonly name: string; readonly spanMs?: number | undefined },
): Promise<{ readonly user: string; readonly link: string; readonly expires_at: string }> {
  context.signal.throwIfAborted()
  const link = newLoginLink(context.random)
  const expiresAtMs = context.clock.nowMs() + spanMs
  await context.store.users.createLoginLink({ user: name, digest: keyDigest(link), expiresAtMs })
  await record(context, { action: 'create_login_link', target: `user/${name}` })
  return { user: name, link, expires_at: iso(expiresAtMs) }
}
