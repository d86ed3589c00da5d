import { link, open, stat, unlink } from 'node:fs/promises'
import { platform } from 'node:os'
import { dirname } from 'node:path'
import { CommandError } from '../base/catalogue/command.ts'
import type { Random } from '../base/random.ts'
import { parseSealKey, SEAL_KEY_BYTES } from '../base/seal.ts'
import { isPostgresUrl, storePath } from './url.ts'

/** A key as text with a line break is far shorter. */
const LIMIT_BYTES = 1_024
/** Permissions of users other than the owner and its group: Kubernetes gives the files of a volume to a group (`fsGroup`). */
const OTHERS = 0o007

/**
 * The key that seals secrets: from the environment, or from a file beside the database that is created on first use;
 * beside a PostgreSQL server there is no such file. It is never in the database, so a copy of that alone reveals nothing.
 */
export class MasterKey {
  readonly #given: Uint8Array | undefined
  readonly #path: string | undefined

  private constructor(given: Uint8Array | undefined, path: string | undefined) {
    this.#given = given
    this.#path = path
  }

  /**
   * @param url of the store; the key file is beside the database: `gw.db.key` beside `gw.db`.
   * @param text `GW_MASTER_KEY`; undefined or empty: use the file.
   * @throws {CommandError} usage
   */
  static of(url: string, folder: string, text: string | undefined): MasterKey {
    const path = isPostgresUrl(url) ? undefined : `${storePath(url, folder)}.key`
    if (text === undefined || text.trim() === '') return new MasterKey(undefined, path)
    const given = parseSealKey(text)
    if (given) return new MasterKey(given, path)
    throw new CommandError('usage', 'GW_MASTER_KEY is not a key of 32 bytes.', {
      hint: 'Make one with `openssl rand -base64 32`. It cannot open secrets that were sealed with another key.',
    })
  }

  /** @throws {CommandError} master_key_unusable if there is no key, or its file is readable by every user. */
  async read(): Promise<Uint8Array> {
    return this.#given ?? (await readFile(this.#file)) ?? reject(this.#file, 'does not exist')
  }

  /** The same, but creates a missing file. @throws {CommandError} master_key_unusable */
  async readOrCreate(random: Random): Promise<Uint8Array> {
    const found = this.#given ?? (await readFile(this.#file))
    if (found) return found
    await createFile(this.#file, random)
    return this.read()
  }

  /** @throws {CommandError} master_key_unusable */
  get #file(): string {
    if (this.#path !== undefined) return this.#path
    throw new CommandError('master_key_unusable', 'GW_MASTER_KEY is not set.', {
      hint: 'With a store in PostgreSQL every gateway needs the same one: make it with `openssl rand -base64 32`.',
    })
  }
}

async function readFile(path: string): Promise<Uint8Array | undefined> {
  let text: string
  try {
    const { mode } = await stat(path)
    if (platform() !== 'win32' && (mode & OTHERS) !== 0) {
      reject(path, `can be read by every user: \`chmod 600 ${path}\``)
    }
    const file = await open(path, 'r')
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(LIMIT_BYTES), 0, LIMIT_BYTES, 0)
      text = buffer.toString('latin1', 0, bytesRead)
    } finally {
      await file.close()
    }
  } catch (error) {
    if (error instanceof CommandError) throw error
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    return reject(path, 'cannot be read', error)
  }
  return parseSealKey(text) ?? reject(path, 'does not contain a key of 32 bytes')
}

/**
 * Written whole and synced before it gets its name: no process reads half a key, and none that has sealed with it
 * finds another key after a power failure. If two processes create one at once, the first to link it wins.
 */
async function createFile(path: string, random: Random): Promise<void> {
  const draft = `${path}.${Buffer.from(random.bytes(6)).toString('hex')}`
  try {
    const file = await open(draft, 'wx', 0o600)
    try {
      await file.writeFile(`${Buffer.from(random.bytes(SEAL_KEY_BYTES)).toString('base64')}\n`)
      await file.sync()
    } finally {
      await file.close()
    }
    try {
      await link(draft, path)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    } finally {
      await unlink(draft)
    }
    const folder = await open(dirname(path), 'r')
    try {
      await folder.sync()
    } finally {
      await folder.close()
    }
  } catch (error) {
    reject(path, 'cannot be created', error)
  }
}

function reject(path: string, reason: string, cause?: unknown): never {
  throw new CommandError('master_key_unusable', `The key file ${path} ${reason}.`, { cause })
}
