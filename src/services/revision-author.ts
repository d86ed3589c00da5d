import { execFile } from 'node:child_process'
import { stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { AppPorts } from './context.ts'

/** The author of a revision, and its git commit. */
export interface Authorship {
  readonly author?: string
  /** The full hash, with the suffix `-dirty` if the files differ from that commit. */
  readonly gitCommit?: string
}

const GIT_TIMEOUT_MS = 5_000

/**
 * The commit and author of the repository that holds the files. Without a repository or without git: the user logged
 * in to this machine.
 */
export async function authorship(
  paths: readonly string[],
  ports: Pick<AppPorts, 'environment' | 'cwd'>,
): Promise<Authorship> {
  const fallback = loggedIn(ports.environment)
  const first = paths.find(path => path !== '-')
  if (first === undefined) return fallback
  const target = resolve(ports.cwd, first)
  const folder = (await isDirectory(target)) ? target : dirname(target)
  const git = (...words: string[]) => runGit(words, folder, ports.environment)

  const head = await git('log', '-1', '--no-show-signature', '--format=%H%n%an <%ae>')
  const [hash, author] = head?.split('\n') ?? []
  if (!hash) return fallback
  const files = paths.filter(path => path !== '-').map(path => resolve(ports.cwd, path))
  const pending = await git('status', '--porcelain', '--untracked-files=normal', '--', ...files)
  const gitCommit = pending === '' ? hash : `${hash}-dirty`
  return author ? { author, gitCommit } : { ...fallback, gitCommit }
}

/** The user logged in to this machine, if the environment names one; the author of changes without files. */
export function loggedIn(environment: AppPorts['environment']): Pick<Authorship, 'author'> {
  const author = environment['USER'] || environment['LOGNAME']
  return author ? { author } : {}
}

/** The output of git without trailing white space; `undefined` if git fails or is missing. */
function runGit(
  words: readonly string[],
  folder: string,
  environment: AppPorts['environment'],
): Promise<string | undefined> {
  const env = { ...environment, GIT_OPTIONAL_LOCKS: '0', GIT_PAGER: 'cat', LC_ALL: 'C' }
  return new Promise(done => {
    execFile(
      'git',
      ['--no-pager', '-c', 'core.fsmonitor=false', ...words],
      { cwd: folder, env, timeout: GIT_TIMEOUT_MS, windowsHide: true },
      (error, stdout) => done(error ? undefined : stdout.trimEnd()),
    )
  })
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory()
  } catch {
    return false // the loader reports unreadable paths
  }
}
