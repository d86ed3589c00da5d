import { type Dirent, lstatSync, readdirSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import { basename, join, parse, resolve, sep } from 'node:path'

/** The relevant entries of a directory: all, or only these. */
export type Wanted = 'everything' | ReadonlySet<string>

const YAML_FILE = /\.ya?ml$/
const IGNORED = 'node_modules'
/** The limit of links in a path: a link may lead to itself. */
const MAX_LINKS = 40

/**
 * The directories in which a change can affect the content of a tree of files:
 *
 * - each directory of the tree, following links to directories, like the loader
 * - of each path, each directory with a link on the path: a Kubernetes ConfigMap (`..data`) and a checkout of git-sync
 * are updated by swapping one link, without an event at its target
 * - the parent directory, in which a replaced file or directory reappears
 *
 * @param paths absolute.
 * @returns real paths of existing directories.
 */
export function watchedDirectories(paths: readonly string[]): ReadonlyMap<string, Wanted> {
  const wanted = new Map<string, Wanted>()
  for (const path of paths) {
    follow(path, wanted)
    tree(path, wanted, new Set())
  }
  return wanted
}

/** Whether an entry of a watched directory is relevant: a database beside a file changes with every request. */
export function isWatchedEntry(
  directory: string,
  name: string,
  wanted: ReadonlyMap<string, Wanted>,
): boolean {
  const which = wanted.get(directory)
  if (which === undefined || which !== 'everything') return which?.has(name) === true
  if (YAML_FILE.test(name)) return !name.startsWith('.')
  if (name === IGNORED) return false
  const entry = lstatSync(join(directory, name), { throwIfNoEntry: false })
  // A deleted entry may have been of any kind.
  return !entry?.isFile()
}

function tree(path: string, wanted: Map<string, Wanted>, seen: Set<string>): void {
  const real = realDirectory(path)
  if (real === undefined || seen.has(real)) return
  seen.add(real)
  wanted.set(real, 'everything')
  for (const entry of entriesOf(real)) {
    if (entry.name === IGNORED) continue
    const inner = join(real, entry.name)
    if (entry.isSymbolicLink()) follow(inner, wanted)
    if (!entry.name.startsWith('.') && (entry.isDirectory() || entry.isSymbolicLink()))
      tree(inner, wanted, seen)
  }
}

/** Walks a path from its root, following every link. */
function follow(path: string, wanted: Map<string, Wanted>): void {
  const { root } = parse(path)
  let here = root
  let names = path.slice(root.length).split(sep)
  let links = 0
  while (names.length > 0) {
    const [name = '', ...rest] = names
    const next = resolve(here, name)
    const target = linkTarget(next)
    if (target !== undefined || rest.length === 0) want(here, basename(next), wanted)
    if (target === undefined) {
      here = next
      names = rest
      continue
    }
    if (++links > MAX_LINKS) return
    const absolute = resolve(here, target)
    here = parse(absolute).root
    names = [...absolute.slice(here.length).split(sep), ...rest]
  }
}

function want(directory: string, name: string, wanted: Map<string, Wanted>): void {
  const real = realDirectory(directory)
  if (real === undefined || name === '') return
  const before = wanted.get(real)
  if (before !== 'everything') wanted.set(real, new Set([...(before ?? []), name]))
}

function linkTarget(path: string): string | undefined {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : undefined
  } catch {
    return undefined // not there at this moment
  }
}

function realDirectory(path: string): string | undefined {
  try {
    const real = realpathSync(path)
    return statSync(real).isDirectory() ? real : undefined
  } catch {
    return undefined // missing now: the directory above reports when it appears
  }
}

function entriesOf(directory: string): Dirent[] {
  try {
    return readdirSync(directory, { withFileTypes: true })
  } catch {
    return [] // who loads it says why
  }
}
