import { load } from '../config/load.ts'
import type { Problem, Tree } from '../config/types.ts'
import { ConfigurationInvalid } from './invalid.ts'
import type { AppPorts } from './ports.ts'

/** A tree of files that is valid, and what is doubtful about it. */
export interface Valid {
  readonly tree: Tree
  readonly warnings: readonly Problem[]
}

/**
 * Checks files by themselves. Opens no store and no socket, reads no secret, writes nothing.
 * @throws {ConfigurationInvalid} with every problem of every file.
 */
export async function validateConfiguration(paths: readonly string[], ports: AppPorts): Promise<Valid> {
  return loaded(paths, new Set(), ports)
}

async function loaded(paths: readonly string[], known: ReadonlySet<string>, ports: AppPorts): Promise<Valid> {
  const { environment, readStdin, signal } = ports
  const result = await load(paths, { environment, readStdin, known })
  signal.throwIfAborted()
  if (!result.ok) throw new ConfigurationInvalid(result.problems)
  return { tree: result.tree, warnings: result.problems }
}
