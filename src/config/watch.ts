import { statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { type FSWatcher, watch as watchWithChokidar } from 'chokidar'
import type { Clock, Timer } from '../base/clock.ts'
import { isWatchedEntry, watchedDirectories } from './watched.ts'

/** A save causes several events: editors write a new file, rename it, and delete the old one. */
const DEBOUNCE_MS = 150
/** The longest delay for a file that is written continuously. */
const MAX_WAIT_MS = 1_000

export interface WatchPorts {
  readonly clock: Clock
  /** Called after a burst of events that may have changed the content of the files. */
  readonly onChange: () => void
  /** Called when the system stops watching: later changes may be missed. */
  readonly onError: (error: Error) => void
}

/** An active watch, until it is closed. */
export interface Watch {
  close(): Promise<void>
}

/**
 * Watches a tree of files through its directories ({@link watchedDirectories}), which detects saves by rename, swapped
 * links, and new and deleted files.
 *
 * @param paths absolute.
 * @returns when all directories are watched.
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
  /** The watched directories by name and inode: a replaced directory has another inode. */
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

  /** Watches the current directories. Resolves when all are watched. */
  async renew(): Promise<void> {
    const wanted = watchedDirectories(this.#paths)
    const identity = identityOf(wanted.keys())
    if (identity === this.#identity) return
    this.#identity = identity
    await this.#watcher?.close()
    const isOurs = (path: string) => wanted.has(path) || isWatchedEntry(dirname(path), basename(path), wanted)
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
    // Paths that chokidar considers unchanged, such as a link with a new target.
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
    // Reported only when the watch is complete again: later changes are detected, earlier ones are read.
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
