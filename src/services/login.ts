import { hostname } from 'node:os'
import { CommandError } from '../base/catalogue/command.ts'
import { iso } from '../base/iso.ts'
import type { TokenScope } from '../schema/token.ts'
import type { AppPorts } from './context.ts'
import { askControl, type ControlAnswer } from './control-client.ts'
import { keepLogin, type Login, loginOf } from './login-file.ts'

export interface WantedLogin {
  readonly url: URL
  readonly user: string
  readonly scope: TokenScope
  /** In the format of a duration. */
  readonly expiresIn: string
}

type LoginPorts = Pick<AppPorts, 'environment' | 'signal' | 'clock'>

/**
 * Logs in at a control plane: the password opens a session, the session creates a token, then the session ends.
 *
 * @param askPassword is called once.
 * @throws {CommandError} control_plane_unreachable if the control plane is unreachable or rejects, not_logged_in if the log-in cannot be stored.
 */
export async function logIn(
  { url, user, scope, expiresIn }: WantedLogin,
  askPassword: () => Promise<string>,
  ports: LoginPorts,
): Promise<{ readonly login: Login; readonly file: string }> {
  const { environment, signal, clock } = ports
  await loginOf(url.origin, environment)
  const password = await askPassword()
  const opened = await askControl('log_in', { url, signal }, { body: { username: user, password } })
  const { token: session } = expected(opened, 201, url) as { readonly token: string }
  const access = { url, token: session, signal }
  try {
    const name = `gw login ${hostname()} ${iso(clock.nowMs()).replace(/\.\d+Z$/, 'Z')}`
      .replaceAll(/[^A-Za-z0-9 ._@:/-]/g, '-')
      .slice(0, 64)
    const made = await askControl('create_token', access, { body: { name, scope, expires_in: expiresIn } })
    const { token, id, expires_at } = expected(made, 201, url) as Login
    const login = { token, id, user, expires_at }
    return { login, file: await keepLogin(url.origin, login, environment) }
  } finally {
    await askControl('log_out', access, {})
  }
}

/** Revokes the token of a log-in and deletes the log-in. @returns false if there was none. */
export async function logOut(url: URL, { environment, signal }: LoginPorts): Promise<boolean> {
  const login = await loginOf(url.origin, environment)
  if (!login) return false
  try {
    await askControl('revoke_token', { url, token: login.token, signal }, { params: { name: login.id } })
  } finally {
    await keepLogin(url.origin, undefined, environment)
  }
  return true
}

/** The token for a control plane: GW_TOKEN, or the stored log-in. @throws {CommandError} not_logged_in */
export async function tokenFor(url: URL, environment: AppPorts['environment']): Promise<string> {
  const given = environment['GW_TOKEN']
  if (given) return given
  const login = await loginOf(url.origin, environment)
  if (login) return login.token
  throw new CommandError('not_logged_in', `There is no log-in for ${url.origin}.`, {
    hint: `\`gw login --url ${url.origin} --user NAME\`, or put a token into GW_TOKEN.`,
  })
}

function expected({ status, json }: ControlAnswer, wanted: number, url: URL): unknown {
  if (status === wanted) return json
  const { detail, hint } = json as { readonly detail?: string; readonly hint?: string }
  throw new CommandError(
    'control_plane_unreachable',
    detail ?? `${url.origin} answers ${status}.`,
    hint === undefined ? {} : { hint },
  )
}
