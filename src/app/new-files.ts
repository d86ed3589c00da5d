import { mkdir, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { CommandError } from '../base/catalogue/command.ts'

export interface NewFile {
  /** Below the folder. */
  readonly path: string
  readonly content: string
}

/** Where commands look for a configuration; both at once are rejected. */
export const CONFIG_FILE = 'gw.yaml'
export const CONFIG_FOLDER = 'config'

/**
 * Writes files that are not there yet, folders included: all of them or, where one of them is there, none.
 *
 * @param other What must not be there either, because it would contradict them.
 * @throws {CommandError} GW4018
 */
export async function writeNewFiles(
  folder: string,
  files: readonly NewFile[],
  other: typeof CONFIG_FILE | typeof CONFIG_FOLDER,
): Promise<void> {
  const standing: string[] = []
  for (const path of [other, ...files.map(file => file.path)]) {
    if (await exists(join(folder, path))) standing.push(path)
  }
  if (standing.length > 0) {
    throw new CommandError('GW4018', `In ${folder} there is ${standing.join(', ')} already.`)
  }
  for (const { path, content } of files) {
    const full = join(folder, path)
    await mkdir(dirname(full), { recursive: true })
    await writeFile(full, content, { flag: 'wx' })
  }
}

export async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}
