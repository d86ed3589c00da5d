import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { CommandError } from '../base/catalogue/command.ts'
import type { Session } from './session.ts'

const DEFAULTS = ['gw.yaml', 'config'] as const

/**
 * The paths of `-c`, or the one of `./gw.yaml` and `./config` that exists. Both at once are rejected: using
 * only one would plan the removal of everything that the other declares.
 * @throws {CommandError} usage
 */
export function configPaths({ flags, io }: Pick<Session, 'flags' | 'io'>): readonly string[] {
  if (flags.config.length > 0) return flags.config
  const there = DEFAULTS.filter(path => existsSync(resolve(io.cwd, path)))
  if (there.length === 1) return there
  if (there.length === 0) {
    throw new CommandError('usage', 'No configuration: there is neither ./gw.yaml nor ./config here.', {
      hint: 'Name a file or a directory: `-c PATH`.',
    })
  }
  throw new CommandError('usage', 'Both ./gw.yaml and ./config exist, and they may contradict each other.', {
    hint: 'Choose one: `-c gw.yaml` or `-c config` (or both, `-c gw.yaml -c config`, as one tree).',
  })
}
