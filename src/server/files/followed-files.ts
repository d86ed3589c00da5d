import { resolve } from 'node:path'
import { COMMAND_FAULTS, CommandError } from '../../base/catalogue/command.ts'
import { CONFIG_FAULTS } from '../../base/catalogue/config.ts'
import { healthReason } from '../../base/catalogue/health.ts'
import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import { problemJson } from '../../config/format.ts'
import type { Problem } from '../../config/types.ts'
import { type Watch, watchFiles } from '../../config/watch.ts'
import { ConfigurationInvalid } from '../../services/invalid.ts'
import type { ServingStore } from '../../store/types.ts'
import { IdleWorker } from '../workers/idle-worker.ts'
import type { Calls } from '../workers/worker-rpc.ts'
import type {
  FilesComparison,
  FilesOutcome,
  FilesRejection,
  FilesState,
  FilesWorker,
  FollowedTree,
} from './outcome.ts'

export interface FollowedFilesPorts extends FollowedTree {
  readonly clock: Clock
  readonly log: Log
  /** The compiled thread module, if not the one beside this: tests run that of the build. */
  readonly threadUrl?: URL
  /** Called with each new rejection, once per state of the files; for an interactive screen. */
  readonly onRejected?: (rejection: FilesRejection) => void
}

/** The maximum number of problems in a log line. */
const LISTED = 20

const MODULE = new URL('./files-thread.js', import.meta.url)

/**
 * Keeps the store in sync with a tree of files.
 *
 *     save ──▶ quiet for 150 ms ──▶ load ──▶ plan ──▶ commit ──▶ the reloader sees the revision
 *                                     │        │        │
 *                                     └────────┴────────┴─▶ the served revision stays; error in the log,
 *                                                           degraded in /health
 */
export class FollowedFiles {
  readonly #ports: FollowedFilesPorts
  #watch: Watch | undefined
  #last: FilesState | undefined
  #rejection: FilesRejection | undefined
  #rejected = ''
  #watchError: string | undefined
  /** Revisions up to this one were compared with the files, or created by them. */
  #compared = 0
  #drift: FilesComparison | undefined
  readonly #thread: IdleWorker<FilesWorker>
  #applying: Promise<FilesOutcome> | undefined
  /** One more apply, for all requests that came during the current one. */
  #next: Promise<FilesOutcome> | undefined
  /** Calls of the thread run one after another. */
  #calls: Promise<unknown> = Promise.resolve()
  /** The newest revision that is served. */
  #served = 0
  #comparing = false
  #closed = false

  constructor(ports: FollowedFilesPorts) {
    this.#ports = ports
    const { paths, store, cwd, environment, clock, threadUrl = MODULE } = ports
    // A copy: `process.env` itself cannot be cloned.
    const tree: FollowedTree = { paths, store, cwd, environment: { ...environment } }
    this.#thread = new IdleWorker('files', threadUrl, clock, tree)
  }

  /** Applies the files now. Several calls during one apply share the next one. Never rejects. */
  apply(): Promise<FilesOutcome> {
    if (!this.#applying) {
      this.#applying = this.#once().finally(() => {
        this.#applying = undefined
      })
      return this.#applying
    }
    this.#next ??= this.#applying.then(() => {
      this.#next = undefined
      return this.apply()
    })
    return this.#next
  }

  /** Applies the files on each save from now on. */
  async watch(): Promise<void> {
    const { paths, cwd, clock, log } = this.#ports
    this.#watch = await watchFiles(
      paths.map(path => resolve(cwd, path)),
      {
        clock,
        onChange: () => void this.apply(),
        onError: error => {
          this.#watchError = error.message
          log.error({ err: error }, 'the files cannot be watched; SIGHUP applies them')
        },
      },
    )
  }

  /**
   * Called when a revision is served. If the files did not create it, it is compared with them after the current
   * apply; see `drift` in {@link reasons}.
   */
  async compare(revision: number): Promise<void> {
    this.#served = revision
    if (this.#comparing) return
    this.#comparing = true
    try {
      while (!this.#closed && this.#compared < this.#served) {
        await this.#applying
        if (this.#last === undefined || this.#compared >= this.#served) return
        const since = this.#compared
        this.#compareDone(await this.#inTurn(thread => thread.compare(since)))
      }
    } catch (error) {
      if (!this.#closed)
        this.#ports.log.warn({ reason: messageOf(error) }, 'the files cannot be compared with the store')
    } finally {
      this.#comparing = false
    }
  }

  /** Reasons why the served revision may differ from the files; empty if it does not. */
  reasons(): readonly string[] {
    const rejected = this.#rejection && [
      healthReason('files_rejected', `${this.#rejection.message}${firstError(this.#rejection)}`),
    ]
    const unwatched =
      this.#watchError === undefined ? [] : [healthReason('files_unwatched', this.#watchError)]
    return [...(rejected ?? []), ...unwatched, ...this.#driftReason()]
  }

  /** Ends the watch. An apply in progress that has not committed yet is rolled back. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#watch?.close()
    await this.#thread.end()
  }

  async #once(): Promise<FilesOutcome> {
    const outcome = await this.#inTurn(thread => thread.apply(this.#last)).catch(failed)
    this.#notify(outcome)
    return outcome
  }

  #inTurn<Answer>(request: (thread: Calls<FilesWorker, object>) => Promise<Answer>): Promise<Answer> {
    const answer = this.#calls.then(() => {
      if (this.#closed) throw new CommandError('interrupted', 'The gateway is ending.')
      return this.#thread.call(request)
    })
    // The caller receives the error.
    this.#calls = answer.catch(() => undefined)
    return answer
  }

  #compareDone(outcome: FilesComparison): void {
    this.#compared = Math.max(this.#compared, outcome.revision)
    if (outcome.made === undefined) return
    this.#drift = outcome.changes === 0 ? undefined : outcome
    if (this.#drift)
      this.#ports.log.warn(
        { revision: outcome.made.id, changes: outcome.changes },
        this.#driftReason()[0] ?? '',
      )
  }

  #driftReason(): readonly string[] {
    const { made, changes } = this.#drift ?? {}
    if (made === undefined || changes === undefined) return []
    const what = made.restores === undefined ? 'an apply' : `a rollback to ${made.restores}`
    const by = made.author === undefined ? '' : ` by ${made.author}`
    const count = `${changes} ${changes === 1 ? 'resource differs' : 'resources differ'}`
    return [
      healthReason(
        'drift',
        `revision ${made.id}, ${what}${by}, differs from ${this.#ports.paths.join(', ')}: ${count}; the next apply of the files undoes it`,
      ),
    ]
  }

  #notify(outcome: FilesOutcome): void {
    const { paths, log, onRejected } = this.#ports
    if (outcome.is === 'rejected') {
      this.#rejection = outcome
      const { fingerprint, code, message, hint, problems } = outcome
      const rejected = `${fingerprint} ${code} ${message}`
      if (this.#closed || rejected === this.#rejected) return
      this.#rejected = rejected
      log.error(
        {
          code: COMMAND_FAULTS[code].number,
          reason: message,
          hint,
          problems: problems.slice(0, LISTED).map(problemJson),
        },
        'cannot apply the files',
      )
      onRejected?.(outcome)
      return
    }
    const { revision, fingerprint } = outcome
    if (outcome.is === 'applied') {
      log.info({ revision, files: paths, ...outcome.counts }, 'applied the files')
      for (const { code, message, place } of outcome.warnings)
        log.warn({ code: CONFIG_FAULTS[code].number, place, reason: message }, 'warning about the files')
    } else if (this.#rejection) {
      log.info({ revision, files: paths }, 'the files match the served revision again')
    }
    this.#last = { revision, fingerprint }
    this.#compared = revision
    this.#drift = undefined
    this.#rejection = undefined
    this.#rejected = ''
  }
}

/** The outcome if the thread has failed, or if this gateway is ending. */
function failed(error: unknown): FilesOutcome {
  return {
    is: 'rejected',
    fingerprint: '',
    code: error instanceof CommandError ? error.code : 'unexpected',
    message: messageOf(error),
    hint: 'Nothing was changed. Report it, with the lines of the log before this one.',
    problems: [],
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** The first error: its place, code and message. */
function firstError({ problems }: FilesRejection): string {
  const problem: Problem | undefined = problems.find(({ severity }) => severity === 'error')
  if (!problem) return ''
  const { place, code, message } = problem
  return ` ${place.file}:${place.line}:${place.column} ${CONFIG_FAULTS[code].number} ${message}`
}

/**
 * Applies the files before anything is served. If that fails, the last good revision is served, degraded. Throws only
 * if nothing was ever applied.
 *
 * @throws {ConfigurationInvalid} and {@link CommandError} as `gw apply`.
 */
export async function startFiles(
  files: FollowedFiles,
  watch: boolean,
  store: Pick<ServingStore, 'head'>,
): Promise<void> {
  // Before the files are read, so that no save is missed.
  if (watch) await files.watch()
  const outcome = await files.apply()
  if (outcome.is !== 'rejected' || (await store.head()).revision > 0) return
  const { code, message, hint, problems } = outcome
  throw code === 'configuration_invalid'
    ? new ConfigurationInvalid(problems)
    : new CommandError(code, message, { hint })
}
