import { CommandError } from '../../base/catalogue/command.ts'
import type { PostgresConnections } from './connection.ts'

const OLDEST_VERSION = 15

/**
 * Settings that decide what a statement does, which a server, a database or a role may have changed. They are not set for
 * each session: a pooler shares its sessions.
 */
const REQUIRED = {
  // With another level, who has waited for the row lock of another gateway gets an error.
  default_transaction_isolation: 'read committed',
  standard_conforming_strings: 'on',
  array_nulls: 'on',
} as const

type Setting = keyof typeof REQUIRED | 'server_version' | 'server_version_num' | 'server_encoding'
export type Settings = Readonly<Record<Setting, string>>

/** @throws {CommandError} store_unavailable if the server or the database cannot have a store. */
export async function assertSettings(connections: PostgresConnections): Promise<void> {
  const names = ['server_version', 'server_version_num', 'server_encoding', ...Object.keys(REQUIRED)]
  const columns = names.map(setting => `current_setting('${setting}') as ${setting}`)
  const { rows } = await connections.use(client => client.query<Settings>(`select ${columns.join(', ')}`))
  const fault = rows[0] && settingsFault(rows[0])
  if (!fault) return
  throw new CommandError('store_unavailable', `${connections.name} ${fault.message}.`, { hint: fault.hint })
}

/** What is wrong with the settings, and how to correct it. */
export function settingsFault(
  settings: Settings,
): { readonly message: string; readonly hint: string } | undefined {
  const { server_version: version, server_encoding: encoding } = settings
  if (Number(settings.server_version_num) < OLDEST_VERSION * 10_000)
    return { message: `is PostgreSQL ${version}`, hint: `Use PostgreSQL ${OLDEST_VERSION} or newer.` }
  if (encoding !== 'UTF8') {
    return {
      message: `has the encoding ${encoding}`,
      hint: 'Create another database: `createdb --encoding UTF8 --template template0 NAME`.',
    }
  }
  for (const [setting, value] of Object.entries(REQUIRED) as [keyof typeof REQUIRED, string][]) {
    if (settings[setting] === value) continue
    return {
      message: `has ${setting} = '${settings[setting]}'`,
      hint: `Run \`alter database NAME set ${setting} = '${value}'\`; a role that has the setting wins over its database.`,
    }
  }
  return undefined
}
