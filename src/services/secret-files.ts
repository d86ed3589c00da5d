import { type FileHandle, open, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { CommandError } from '../base/catalogue/command.ts'
import { makeFolder } from '../store/database.ts'

/** A new file that only its owner can read; its secret is not minted yet. */
interface Reserved {
  readonly key: string
  readonly path: string
  readonly file: FileHandle
}

/** A file with one secret. */
export interface SecretFile {
  readonly key: string
  readonly path: string
}

/**
 * Mints one secret per key into new files `FOLDER/NAME.key`. The files are created first, so that no secret is lost to
 * an existing file or a read-only folder. They are deleted if minting fails; a file that has its secret stays.
 *
 * @throws {CommandError} file_exists if a file exists or cannot be created or written, and what `mint` throws.
 */
export async function mintIntoFiles<Secret extends { readonly key: string; readonly secret: string }>(
  folder: string,
  keys: readonly string[],
  cwd: string,
  mint: () => Promise<readonly Secret[]>,
): Promise<readonly (SecretFile & { readonly minted: Secret })[]> {
  const reserved: Reserved[] = []
  const written: (SecretFile & { readonly minted: Secret })[] = []
  try {
    for (const key of keys) reserved.push(await reserve(resolve(cwd, folder), folder, key))
    const minted = await mint()
    for (const { key, path, file } of reserved) {
      const secret = minted.find(each => each.key === key)
      if (secret === undefined) throw new Error(`no secret was minted for ${key}`)
      await file.writeFile(`${secret.secret}\n`).catch((error: unknown) => {
        throw lostSecrets(path, keys.slice(written.length), error)
      })
      written.push({ key, path, minted: secret })
    }
    return written
  } catch (error) {
    for (const { path } of reserved.slice(written.length)) await rm(resolve(cwd, path), { force: true })
    throw error
  } finally {
    for (const { file } of reserved) await file.close()
  }
}

function lostSecrets(path: string, keys: readonly string[], error: unknown): CommandError {
  return new CommandError('file_exists', `${path} cannot be written: ${reasonOf(error)}.`, {
    hint: `The new secrets of ${keys.join(', ')} are lost: replace them with \`gw keys rotate\`.`,
    cause: error,
  })
}

async function reserve(absolute: string, folder: string, key: string): Promise<Reserved> {
  // A key name may contain a slash, a file name may not.
  const name = `${encodeURIComponent(key)}.key`
  const path = join(folder, name)
  try {
    makeFolder(absolute)
    return { key, path, file: await open(join(absolute, name), 'wx', 0o600) }
  } catch (error) {
    throw new CommandError('file_exists', `${path} cannot be created: ${reasonOf(error)}.`, { cause: error })
  }
}

function reasonOf(error: unknown): string {
  const { code, syscall, message } = error as NodeJS.ErrnoException
  return code === 'EEXIST' && syscall !== 'mkdir' ? 'it already exists' : message
}
