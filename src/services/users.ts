import { CommandError } from '../base/catalogue/command.ts'
import { PasswordHasher } from '../base/password.ts'
import { password as passwordSchema, type Role, userName, userPlace } from '../schema/user.ts'
import type { Store } from '../store/types.ts'
import type { User } from '../store/users/types.ts'
import { record } from './audit.ts'
import type { AppPorts } from './context.ts'
import { didYouMean, existingNames } from './names.ts'
import { withStore } from './stored.ts'

type UserPorts = Pick<AppPorts, 'clock' | 'cwd' | 'random' | 'environment' | 'signal'>

/** A user to create. */
export interface NewUser {
  readonly name: string
  readonly role: Role
  readonly tenant?: string
}

/**
 * Creates a user of the control plane.
 *
 * @param askPassword is called after all other checks have passed.
 * @throws {CommandError} store_…, not_found if the tenant does not exist, already_exists if the name is taken, usage
 */
export async function createUser(
  newUser: NewUser,
  askPassword: () => Promise<string>,
  storeUrl: string,
  ports: UserPorts,
): Promise<User> {
  const { name, role, tenant } = newUser
  assertValid(userName.safeParse(name))
  assertValid(userPlace.safeParse({ role, ...(tenant !== undefined && { tenant }) }))
  return changed('create_user', name, storeUrl, ports, async store => {
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
    const passwordHash = await hashed(askPassword, ports)
    const place = { role, ...(tenant !== undefined && { tenant }) }
    return store.users.createUser({ name, passwordHash, ...place })
  })
}

/** All users, by name. @throws {CommandError} store_… */
export async function listUsers(storeUrl: string, ports: UserPorts): Promise<readonly User[]> {
  return withStore(storeUrl, 'read', ports, store => store.users.users({ limit: Number.MAX_SAFE_INTEGER }))
}

/**
 * Enables or disables a user; disabling ends the user's sessions.
 * @throws {CommandError} store_…, not_found if the user does not exist, last_admin if no administrator would be left.
 */
export async function switchUser(
  name: string,
  enabled: boolean,
  storeUrl: string,
  ports: UserPorts,
): Promise<{ readonly user: User; readonly changed: boolean }> {
  const hasChanged = (result: { readonly changed: boolean }) => result.changed
  const work = async (store: Store) => {
    const before = await store.users.user(name)
    const user = await store.users.changeUser(name, { enabled })
    return { user, changed: before?.enabled !== user.enabled }
  }
  return changed('update_user', name, storeUrl, ports, work, hasChanged)
}

/**
 * Sets a new password, which ends every session of the user.
 *
 * @param askPassword is called after the user was found.
 * @throws {CommandError} store_…, not_found, usage
 */
export async function resetPassword(
  name: string,
  askPassword: () => Promise<string>,
  storeUrl: string,
  ports: UserPorts,
): Promise<void> {
  await changed('reset_password', name, storeUrl, ports, async store => {
    if (!(await store.users.user(name))) {
      throw new CommandError('not_found', `There is no user ${name}.`, { hint: '`gw users list` shows all.' })
    }
    await store.users.setPassword(name, await hashed(askPassword, ports))
  })
}

/** Runs `work` and, if it changed something, writes an audit entry with the user logged in to this machine. */
async function changed<T>(
  action: string,
  name: string,
  storeUrl: string,
  ports: UserPorts,
  work: (store: Store) => Promise<T>,
  hasChanged: (result: T) => boolean = () => true,
): Promise<T> {
  ports.signal.throwIfAborted()
  return withStore(storeUrl, 'write', ports, async store => {
    const result = await work(store)
    if (hasChanged(result)) await record(store, { action, target: `user/${name}` }, ports)
    return result
  })
}

async function hashed(askPassword: () => Promise<string>, { random, signal }: UserPorts): Promise<string> {
  const password = await askPassword()
  assertValid(passwordSchema.safeParse(password))
  const hash = await new PasswordHasher({ random, atOnce: 1, maxWaiting: 1 }).hash(password)
  signal.throwIfAborted()
  return hash
}

/** The error names the rule, never the value. */
function assertValid(result: {
  readonly error?: { readonly issues: readonly { readonly message: string }[] } | undefined
}): void {
  const [issue] = result.error?.issues ?? []
  if (issue) throw new CommandError('usage', `${issue.message}.`)
}
