import { statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { type FSWatcher, watch as watchWithChokidar } from 'chokidar'
import type { Clock, Timer } from '../base/clock.ts'
import { matters, watchedDirectories } from './watched.ts'

/** A save is several events: editors write beside, rename, and remove. */
const DEBOUNCE_MS = 150
/** A file that is written without end is looked at all the same. */
const MAX_WAIT_MS = 1_000

export interface WatchPorts {
  readonly clock: Clock
  /** Something has happened that may have changed what the files say, and is over. */
  readonly onChange: () => void
  /** The system watches no more: what happens from now on may go unseen. */
  readonly onError: (error: Error) => void
}

/** Files that are watched until they are closed. */
export interface Watch {
  close(): Promise<void>
}

/**
 * Watches a tree of files, on the directories that hold it ({@link watchedDirectories}), so that a save by rename, a
 * link that is swapped and a file that comes or goes are all seen.
 *
 * @param paths absolute.
 * @returns as soon as nothing goes unseen any more.
 */
export async function watchFiles(paths: readonly string[], ports: WatchPorts): Promise<Watch> {
  const watched = new WatchedFiles(paths, ports)
  await watched.renew()
  return watched
}

class WatchedFiles implements Watch {
  readonly #paths: readonly string[]
  readonly #ports: WatchPorts
  #watcher: FSWatcher | undefined
  /** Which directories are watched, by name and inode: one that was replaced is another. */
  #identity = ''
  #timer: Timer | undefined
  #waitingSinceMs: number | undefined
  #settling: Promise<void> = Promise.resolve()
  #closed = false

  constructor(paths: readonly string[], ports: WatchPorts) {
    this.#paths = paths
    this.#ports = ports
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#timer?.cancel()
    await this.#settling
    await this.#watcher?.close()
  }

  /** Watches what is there now. Resolves when all of it is watched. */
  async renew(): Promise<void> {
    const wanted = watchedDirectories(this.#paths)
    const identity = identityOf(wanted.keys())
    if (identity === this.#identity) return
    this.#identity = identity
    await this.#watcher?.close()
    const isOurs = (path: string) => wanted.has(path) || matters(dirname(path), basename(path), wanted)
    const watcher = watchWithChokidar([...wanted.keys()], {
      depth: 0,
      followSymlinks: false,
      ignoreInitial: true,
      ignored: path => !isOurs(path),
    })
    this.#watcher = watcher
    watcher.on('all', (_event, path) => {
      if (isOurs(path)) this.#touched()
    })
    // What chokidar compares and finds to be the same, such as a link that leads elsewhere by now.
    watcher.on('raw', (_event, name: string | null, details) => {
      const { watchedPath } = details as { readonly watchedPath?: string }
      if (watchedPath === undefined || !wanted.has(watchedPath)) return
      if (name === null || isOurs(join(watchedPath, name))) this.#touched()
    })
    watcher.on('error', error =>
      this.#ports.onError(error instanceof Error ? error : new Error(String(error))),
    )
    await new Promise<void>(resolve => watcher.once('ready', () => resolve()))
  }

  #touched(): void {
    if (this.#closed) return
    const { clock } = this.#ports
    const nowMs = clock.monotonicMs()
    this.#waitingSinceMs ??= nowMs
    this.#timer?.cancel()
    const leftMs = Math.max(0, this.#waitingSinceMs + MAX_WAIT_MS - nowMs)
    this.#timer = clock.after(Math.min(DEBOUNCE_MS, leftMs), () => this.#quiet())
  }

  #quiet(): void {
    this.#waitingSinceMs = undefined
    // Told only once the watch is whole again: what happens from then on is seen, what has happened is read.
    this.#settling = this.#settling.then(() => this.#notify())
  }

  async #notify(): Promise<void> {
    const { onChange, onError } = this.#ports
    try {
      await this.renew()
      if (!this.#closed) onChange()
    } catch (error) {
      onError(error instanceof Error ? error : new Error(String(error)))
    }
  }
}

function identityOf(directories: Iterable<string>): string {
  return [...directories]
    .sort()
    .map(path => `${path} ${statSync(path, { throwIfNoEntry: false })?.ino ?? ''}`)
    .join('\n')
}
