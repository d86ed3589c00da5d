import { mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/** What a node keeps: only its owner can read it. */
export interface NodeState {
  /** Gateways over one store. */
  readonly servers: readonly string[]
  readonly node: string
  readonly credential: string
  readonly joined_at: string
}

/** A file that must not be used, or cannot be. */
export class StateFileError extends Error {
  override readonly name = 'StateFileError'
}

/** @returns undefined without a file. @throws {StateFileError} if others can read it, this user cannot, or it is malformed */
export async function readState(path: string): Promise<NodeState | undefined> {
  let text: string
  try {
    const { mode } = await stat(path)
    if ((mode & 0o077) !== 0)
      throw new StateFileError(`Others can read ${path}, which has the credential of this node.`)
    text = await readFile(path, 'utf8')
  } catch (error) {
    if (error instanceof StateFileError) throw error
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new StateFileError(`${path} cannot be read: ${(error as Error).message}.`)
  }
  const state = parsed(text)
  if (!state) throw new StateFileError(`${path} is not the state of a node.`)
  return state
}

/** Leaves no file. @throws {StateFileError} if none can be written there */
export async function assertWritable(path: string): Promise<void> {
  const blank = { servers: [], node: ' '.repeat(1_024), credential: '', joined_at: '' }
  try {
    await rm(await writeFresh(path, blank))
  } catch (error) {
    throw new StateFileError(`${path} cannot be written: ${(error as Error).message}.`)
  }
}

/** Replaces the file at once: a node that stops in between has the old credential or the new one. */
export async function writeState(path: string, state: NodeState): Promise<void> {
  await rename(await writeFresh(path, state), path)
  const folder = await open(dirname(path))
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** Writes a file beside that of the state. @returns its path */
async function writeFresh(path: string, state: NodeState): Promise<string> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const fresh = `${path}.new`
  // Never into a file, or through a link, that is there already.
  await rm(fresh, { force: true })
  const file = await open(fresh, 'wx', 0o600)
  try {
    await file.writeFile(`${JSON.stringify(state, null, 2)}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
  return fresh
}

export async function removeState(path: string): Promise<void> {
  await rm(path, { force: true })
}

function parsed(text: string): NodeState | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  const { servers, node, credential, joined_at: joinedAt } = (value ?? {}) as Partial<Record<string, unknown>>
  const isWhole =
    [node, credential, joinedAt].every(isText) && Array.isArray(servers) && servers.every(isText)
  return isWhole ? (value as NodeState) : undefined
}

function isText(value: unknown): boolean {
  return typeof value === 'string'
}
