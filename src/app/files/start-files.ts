import { CommandError } from '../../base/catalogue/command.ts'
import type { ServingStore } from '../../store/types.ts'
import { ConfigurationInvalid } from '../invalid.ts'
import type { FollowedFiles } from './followed-files.ts'

/**
 * Applies the files before anything is served. Where they cannot be, what was good before is served, degraded; only
 * where nothing was ever applied there is nothing to serve.
 *
 * @throws {ConfigurationInvalid} and {@link CommandError} as `gw apply`.
 */
export async function startFiles(
  files: FollowedFiles,
  watch: boolean,
  store: Pick<ServingStore, 'head'>,
): Promise<void> {
  // Before they are read, so that no save falls in between.
  if (watch) await files.watch()
  const outcome = await files.apply()
  if (outcome.is !== 'rejected' || (await store.head()).revision > 0) return
  const { code, message, hint, problems } = outcome
  throw code === 'GW3001' ? new ConfigurationInvalid(problems) : new CommandError(code, message, { hint })
}
