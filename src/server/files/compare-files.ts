import { CommandError } from '../../base/catalogue/command.ts'
import { systemClock } from '../../base/clock.ts'
import { systemRandom } from '../../base/random.ts'
import { planConfiguration } from '../../services/configuration.ts'
import type { AppPorts } from '../../services/context.ts'
import { type CommandStore, withCommandStore } from '../../services/stored.ts'
import type { Revision, Store } from '../../store/types.ts'
import type { FilesComparison, FollowedTree } from './outcome.ts'

const PAGE = 100

/**
 * Compares the store with the files. The files are read only after an apply or a rollback since `since`: no other
 * change can touch resources that files own.
 *
 * @throws {CommandError} store_…
 */
export async function compareFiles(
  { paths, store: url, cwd, environment }: FollowedTree,
  since: number,
  signal: AbortSignal,
): Promise<FilesComparison> {
  const ports: AppPorts = {
    environment,
    cwd,
    signal,
    clock: systemClock,
    random: systemRandom,
    readStdin: () => Promise.reject(new Error('stdin cannot be watched')),
  }
  return withCommandStore(url, 'read', ports, async stored => {
    const store = await stored.existing()
    const { newest, made } = store ? await madeSince(store, since) : { newest: since, made: undefined }
    if (made === undefined) return { revision: newest, changes: 0 }
    const { id, origin, restores, author } = made
    return {
      revision: newest,
      made: {
        id,
        origin,
        ...(restores !== undefined && { restores }),
        ...(author !== undefined && { author }),
      },
      changes: await differences(paths, stored, ports),
    }
  })
}

/** The newest revision after `since` that an apply or a rollback created. */
async function madeSince(
  store: Pick<Store, 'revisions'>,
  since: number,
): Promise<{ readonly newest: number; readonly made?: Revision }> {
  let newest = since
  for (let before: number | undefined; ; ) {
    const page = await store.revisions({ limit: PAGE, ...(before !== undefined && { before }) })
    newest = Math.max(newest, page[0]?.id ?? 0)
    const made = page.find(({ id, origin }) => id > since && (origin === 'apply' || origin === 'rollback'))
    if (made) return { newest, made }
    before = page.at(-1)?.id
    if (before === undefined || before <= since) return { newest }
  }
}

/** 0 if the files cannot be planned: the next apply of them reports the reason. */
async function differences(paths: readonly string[], stored: CommandStore, ports: AppPorts): Promise<number> {
  try {
    const { plan } = await planConfiguration(paths, stored, ports)
    return plan.changes.length
  } catch (error) {
    if (error instanceof CommandError) return 0
    throw error
  }
}
