import { resolve } from 'node:path'
import { CommandError } from '../base/catalogue/command.ts'

const HINT = 'Write sqlite: and a path, such as sqlite:./data/gw.db, or postgres://USER@HOST/DATABASE.'

export function isPostgresUrl(url: string): boolean {
  return /^postgres(ql)?:/i.test(url)
}

/**
 * `sqlite:./data/gw.db` → an absolute path; relative paths start from `folder`. `sqlite:///abs` works as well.
 * Error messages never repeat the URL: with another scheme it may contain a password.
 * @throws {CommandError} usage
 */
export function storePath(url: string, folder: string): string {
  const reject = (message: string) => new CommandError('usage', message, { hint: HINT })
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(url)?.[1]?.toLowerCase()
  if (scheme === undefined) throw reject('--store is not a URL: write sqlite: and a path.')
  if (isPostgresUrl(url)) {
    throw new CommandError('usage', 'This is for stores in a file: --store is a PostgreSQL server.', {
      hint: 'PostgreSQL has its own tools for this: see docs/scaling.md.',
    })
  }
  if (scheme !== 'sqlite') throw reject(`--store has the scheme ${scheme}: there are sqlite and postgres.`)

  const rest = url.slice('sqlite:'.length)
  const path = rest.startsWith('///') ? rest.slice(2) : rest
  if (path.startsWith('//')) throw reject('--store names a host: SQLite is a file on this machine.')
  if (path === '') throw reject('--store has no file name.')
  if (path.startsWith(':') || path.includes('\0'))
    throw reject('--store must be a file: its state outlives a process.')
  return resolve(folder, path)
}
