import { CommandError } from '../../base/catalogue/command.ts'
import { load } from '../../config/load.ts'
import type { AppPorts } from '../context.ts'
import { ConfigurationInvalid } from '../invalid.ts'
import { type Imported, type ImportOptions, importLitellm } from './import.ts'

/**
 * Converts a `config.yaml` of the LiteLLM proxy into a configuration of gw, and validates it like `gw validate`.
 * @throws {ConfigurationInvalid} if the file is not such a configuration, or does not parse.
 */
export async function importedFromLitellm(
  path: string,
  ports: AppPorts,
  options: ImportOptions,
): Promise<Imported> {
  const outcome = await importLitellm(path, ports, options)
  ports.signal.throwIfAborted()
  if (!outcome.ok) throw new ConfigurationInvalid(outcome.problems)
  const { imported } = outcome
  const checked = await load(['-'], {
    environment: {},
    known: new Set(),
    readStdin: async () => Buffer.from(imported.yaml),
  })
  if (checked.ok) return imported
  const [first] = checked.problems
  throw new CommandError(
    'unexpected',
    `The imported configuration is not valid: ${first?.message ?? 'no reason given'}.`,
  )
}
