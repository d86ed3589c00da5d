import { CommandError } from '../base/catalogue/command.ts'
import type { Log } from '../base/log.ts'
import type { PasswordHasher } from '../base/password.ts'
import { password as passwordSchema } from '../schema/user.ts'
import type { Store } from '../store/types.ts'

const VARIABLE = 'GW_ADMIN_PASSWORD'
const NAME = 'admin'

/**
 * Where nobody may log in yet, makes the user `admin` with the password of `GW_ADMIN_PASSWORD`. Where there are users
 * the variable says nothing: a password that was changed since must not come back with a restart.
 *
 * @throws {CommandError} GW6001 where the password is too short or too long.
 */
export async function makeFirstAdmin(
  store: Store,
  hasher: PasswordHasher,
  ports: { readonly environment: Readonly<Record<string, string | undefined>>; readonly log: Log },
): Promise<void> {
  if ((await store.users.users({ limit: 1 })).length > 0) return
  const password = ports.environment[VARIABLE]
  if (!password) {
    ports.log.info(`nobody may log in to the control plane yet: gw users create, or ${VARIABLE}`)
    return
  }
  if (!passwordSchema.safeParse(password).success) {
    throw new CommandError('GW6001', `${VARIABLE} is no password: 8 to 256 characters.`, {
      hint: `Set another one, or unset it and run \`gw users create ${NAME} --role admin\`.`,
    })
  }
  await store.users.createUser({ name: NAME, role: 'admin', passwordHash: await hasher.hash(password) })
  await store.users.record({
    user: NAME,
    role: 'admin',
    origin: 'cli',
    action: 'create_first_admin',
    target: `user/${NAME}`,
  })
  ports.log.info({ user: NAME }, 'made the first administrator')
}
