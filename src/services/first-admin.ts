import { CommandError } from '../base/catalogue/command.ts'
import type { Log } from '../base/log.ts'
import type { PasswordHasher } from '../base/password.ts'
import { password as passwordSchema } from '../schema/user.ts'
import type { Store } from '../store/types.ts'
import { record } from './audit.ts'

const VARIABLE = 'GW_ADMIN_PASSWORD'
const NAME = 'admin'

/**
 * Creates the user `admin` with the password of `GW_ADMIN_PASSWORD` if there is no user yet. Otherwise the variable is
 * ignored: a restart must not restore a password that was changed since.
 * @throws {CommandError} usage if the password is too short or too long.
 */
export async function makeFirstAdmin(
  store: Store,
  hasher: PasswordHasher,
  ports: { readonly environment: Readonly<Record<string, string | undefined>>; readonly log: Log },
): Promise<void> {
  if ((await store.users.users({ limit: 1 })).length > 0) return
  const password = ports.environment[VARIABLE]
  if (!password) {
    ports.log.info(`the control plane has no user yet: run gw users create, or set ${VARIABLE}`)
    return
  }
  if (!passwordSchema.safeParse(password).success) {
    throw new CommandError('usage', `${VARIABLE} must have 8 to 256 characters.`, {
      hint: `Set another password, or unset it and run \`gw users create ${NAME} --role admin\`.`,
    })
  }
  await store.users.createUser({ name: NAME, role: 'admin', passwordHash: await hasher.hash(password) })
  const actor = { origin: 'cli', name: NAME, role: 'admin' } as const
  const change = { action: 'create_first_admin', target: `user/${NAME}` } as const
  await record({ actor, auditLog: store.users }, change)
  ports.log.info({ user: NAME }, 'created the first administrator')
}
