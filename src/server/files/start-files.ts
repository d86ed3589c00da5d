import { CommandError } from '../../base/catalogue/command.ts'
import { ConfigurationInvalid } from '../../services/invalid.ts'
import type { ServingStore } from '../../store/types.ts'
import type { FollowedFiles } from './followed-files.ts'

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
