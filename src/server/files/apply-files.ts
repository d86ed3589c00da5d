import { CommandError } from '../../base/catalogue/command.ts'
import { systemClock } from '../../base/clock.ts'
import { systemRandom } from '../../base/random.ts'
import { fingerprint } from '../../config/fingerprint.ts'
import { assertFewDeletes } from '../../services/changes/delete-guard.ts'
import { applyConfiguration } from '../../services/configuration.ts'
import type { AppPorts } from '../../services/context.ts'
import { ConfigurationInvalid } from '../../services/invalid.ts'
import { withCommandStore } from '../../services/stored.ts'
import type { FilesOutcome, FilesRejection, FilesState, FollowedTree } from './outcome.ts'

/** How often a plan is retried after a concurrent commit. */
const ATTEMPTS = 3

/**
 * Applies a tree of files without a reviewer, like `gw apply --yes`: without probes (a starting gateway must not wait
 * for an upstream that is down) and with the guard against deletes.
 *
 * Never rejects for errors in the files or the store.
 */
export async function applyFiles(
  { paths, store, cwd, environment }: FollowedTree,
  last: FilesState | undefined,
  signal: AbortSignal,
): Promise<FilesOutcome> {
  const ports: AppPorts = {
    environment,
    cwd,
    signal,
    clock: systemClock,
    random: systemRandom,
    readStdin: () => Promise.reject(new Error('stdin cannot be watched')),
  }
  const read = await fingerprint(paths, cwd)
  try {
    return await withCommandStore(store, 'write', ports, async stored => {
      if (last?.fingerprint === read) {
        const head = await (await stored.existing())?.head()
        if (head?.revision === last.revision) return { is: 'unchanged', ...last }
      }
      const { planned, applied } = await withoutRaces(() =>
        applyConfiguration(paths, stored, ports, async ({ plan }) => assertFewDeletes(plan, undefined)),
      )
      const state = { fingerprint: read, revision: applied.revision }
      if (planned.plan.changes.length === 0) return { is: 'unchanged', ...state }
      return { is: 'applied', ...state, counts: applied.counts, warnings: planned.warnings }
    })
  } catch (error) {
    return rejected(read, error)
  }
}

async function withoutRaces<T>(attempt: () => Promise<T>): Promise<T> {
  for (let count = 1; ; count++) {
    try {
      return await attempt()
    } catch (error) {
      const isStale = error instanceof CommandError && error.code === 'revision_changed'
      if (!isStale || count === ATTEMPTS) throw error
    }
  }
}

/** The error of an apply, in the form that crosses to the main thread. */
function rejected(fingerprint: string, error: unknown): FilesOutcome {
  return { is: 'rejected', fingerprint, ...rejection(error) }
}

function rejection(error: unknown): FilesRejection {
  const known =
    error instanceof CommandError ? error : new CommandError('unexpected', String(error), { cause: error })
  const { code, message, hint } = known
  return { code, message, hint, problems: known instanceof ConfigurationInvalid ? known.problems : [] }
}
