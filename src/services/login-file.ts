import { chmod, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { CommandError } from '../base/catalogue/command.ts'
import { makeFolder } from '../store/database.ts'
import type { AppPorts } from './context.ts'

/** A log-in of a control plane, as `gw login` stores it. */
export interface Login {
  readonly token: string
  readonly id: string
  readonly user: string
  readonly expires_at: string
}

interface Content {
  readonly version: 1
  readonly control_planes: Readonly<Record<string, Login>>
}

type Environment = AppPorts['environment']

/** The file of log-ins: `GW_LOGIN_FILE`, or `gw/login.json` in the user's configuration folder. */
function loginFile(environment: Environment): string | undefined {
  const { GW_LOGIN_FILE: named, XDG_CONFIG_HOME: config, HOME: home } = environment
  if (named) return named
  if (!config && !home) return undefined
  return join(config || join(home ?? '', '.config'), 'gw', 'login.json')
}

/** The log-in for an origin. @throws {CommandError} not_logged_in if the file is unsafe or unreadable. */
export async function loginOf(origin: string, environment: Environment): Promise<Login | undefined> {
  const path = loginFile(environment)
  return path === undefined ? undefined : (await readLogins(path))[origin]
}

/** Stores a log-in, or deletes it for `undefined`. Only the owner can read the file. */
export async function keepLogin(
  origin: string,
  login: Login | undefined,
  environment: Environment,
): Promise<string> {
  const path = loginFile(environment)
  if (path === undefined) {
    throw new CommandError('usage', 'HOME is not set: there is no place to store the log-in.', {
      hint: 'Set GW_LOGIN_FILE, or put a token into GW_TOKEN.',
    })
  }
  const { [origin]: _before, ...others } = await readLogins(path)
  const next: Content = { version: 1, control_planes: login ? { ...others, [origin]: login } : others }
  try {
    makeFolder(dirname(path))
    const fresh = `${path}.${process.pid}.new`
    await writeFile(fresh, `${JSON.stringify(next, null, 2)}\n`, { mode: 0o600 })
    await chmod(fresh, 0o600)
    await rename(fresh, path)
  } catch (error) {
    throw new CommandError('not_logged_in', `${path} cannot be written.`, { cause: error })
  }
  return path
}

async function readLogins(path: string): Promise<Readonly<Record<string, Login>>> {
  let text: string
  try {
    const { mode } = await stat(path)
    if ((mode & 0o077) !== 0) {
      throw new CommandError('not_logged_in', `Others can read ${path}, which holds tokens.`, {
        hint: `\`chmod 600 ${path}\`, and revoke the tokens that others may have read.`,
      })
    }
    text = await readFile(path, 'utf8')
  } catch (error) {
    if (error instanceof CommandError) throw error
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw new CommandError('not_logged_in', `${path} cannot be read.`, { cause: error })
  }
  try {
    const json = JSON.parse(text) as Partial<Content>
    if (json.version === 1 && typeof json.control_planes === 'object') return json.control_planes
    throw new Error('another version')
  } catch (error) {
    throw new CommandError('not_logged_in', `${path} was not written by gw.`, { cause: error })
  }
}
