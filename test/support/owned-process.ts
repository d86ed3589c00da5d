import { type ChildProcess, spawn } from 'node:child_process'
import { chownSync, mkdtempSync, readFileSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { POSTGRES_USER } from './postgres-user.ts'

/** Without variables that programs of PostgreSQL read. */
export const PLAIN_ENVIRONMENT = { PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' }
/**
 * The end of the standard input is the end of the process that has it. PostgreSQL ends at once by QUIT, which programs without a
 * handler of it ignore behind a shell.
 */
const SCRIPT = '"$@" > log 2>&1 & read _; kill -QUIT $!; kill -TERM $!; wait $!; cd /; rm -rf "$0"'

/** A new folder for {@link startOwned}, which belongs to the user that it runs as. */
export function ownedFolder(prefix: string): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), prefix)))
  const { uid, gid } = POSTGRES_USER
  if (uid !== undefined && gid !== undefined) chownSync(folder, uid, gid)
  return folder
}

/**
 * Starts a program in a folder, both of which a shell ends and deletes when this process is gone, however it ends.
 * @returns the shell, which must be referred to: its input ends when it is collected as garbage. It does not keep this
 * process alive.
 */
export function startOwned(folder: string, command: readonly string[]): ChildProcess {
  const shell = spawn('/bin/sh', ['-c', SCRIPT, folder, ...command], {
    ...POSTGRES_USER,
    cwd: folder,
    env: PLAIN_ENVIRONMENT,
    detached: true,
    // A shell that still deletes must not keep the output of this process open.
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  shell.unref()
  const { stdin } = shell
  if (stdin && 'unref' in stdin && typeof stdin.unref === 'function') stdin.unref()
  return shell
}

/** What a program of {@link startOwned} has written. */
export function saidIn(folder: string): string {
  try {
    return readFileSync(join(folder, 'log'), 'utf8')
  } catch {
    return ''
  }
}
