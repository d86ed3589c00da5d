import { stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { CommandError } from '../base/catalogue/command.ts'
import { makeFolder } from '../store/database.ts'

export interface NewFile {
  /** Relative to the folder. */
  readonly path: string
  readonly content: string
}

/** The default paths of a configuration; commands reject it if both exist. */
export const CONFIG_FILE = 'gw.yaml'
export const CONFIG_FOLDER = 'config'

/**
 * Writes new files and their folders: all of them or, if one already exists, none.
 *
 * @param other must not exist either, because it would contradict the new files.
 * @throws {CommandError} file_exists
 */
export async function writeNewFiles(
  folder: string,
  files: readonly NewFile[],
  other: typeof CONFIG_FILE | typeof CONFIG_FOLDER,
): Promise<void> {
  const found = await stat(folder).catch(() => undefined)
  if (found && !found.isDirectory())
    throw new CommandError('file_exists', `${folder} exists already, and is not a directory.`)
  const existing: string[] = []
  for (const path of [other, ...files.map(file => file.path)]) {
    if (await exists(join(folder, path))) existing.push(path)
  }
  if (existing.length > 0) {
    throw new CommandError('file_exists', `${existing.join(', ')} already exists in ${folder}.`)
  }
  for (const { path, content } of files) {
    const full = join(folder, path)
    try {
      makeFolder(dirname(full), 0o777)
      await writeFile(full, content, { flag: 'wx' })
    } catch (error) {
      throw new CommandError('usage', `${full} cannot be written: ${(error as Error).message}.`, {
        hint: 'Name a folder that you may write.',
        cause: error,
      })
    }
  }
}

export async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}
