import { constants } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { CONFIG_FAULTS, type ConfigCode } from '../base/catalogue/config.ts'
import type { SecretReference } from '../schema/scalars.ts'

/** The size limit: a secret is a line or a certificate. */
const LIMIT_BYTES = 65_536

export interface SecretPorts {
  /** The variables that `{ env: NAME }` refers to. */
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** A reference without a usable secret. Names the reference, never a value. */
export class SecretError extends Error {
  override readonly name = 'SecretError'
  readonly code: ConfigCode = 'secret_unresolved'
  readonly reference: SecretReference
  readonly hint: string = CONFIG_FAULTS.secret_unresolved.hint
  constructor(reference: SecretReference, reason: string, cause?: unknown) {
    super(`${formatReference(reference)} ${reason}`, { cause })
    this.reference = reference
  }
}

/** `the variable OPENAI_KEY`, `the file /run/secrets/openai`: for messages. */
function formatReference({ env, file }: SecretReference): string {
  return env === undefined ? `the file ${file ?? ''}` : `the variable ${env}`
}

/**
 * Reads the secret of a reference, without the line break at the end of a file. Not cached: the caller decides how
 * long a secret is valid.
 *
 * @throws {SecretError} if the secret is missing, empty, or larger than 64 KiB.
 */
export async function resolveSecret(reference: SecretReference, ports: SecretPorts): Promise<string> {
  const { env, file } = reference
  if (env !== undefined) {
    const value = Object.hasOwn(ports.environment, env) ? ports.environment[env] : undefined
    if (value === undefined) throw new SecretError(reference, 'is not set')
    if (value === '') throw new SecretError(reference, 'is empty')
    return value
  }
  const secret = (await readSecretFile(file ?? '', reference)).replace(/\r?\n$/, '')
  if (secret === '') throw new SecretError(reference, 'is empty')
  return secret
}

/**
 * A stamp of a secret's file that changes when the file is written or replaced. Empty for a variable, which cannot
 * change while the process runs.
 */
export async function secretStamp({ file }: SecretReference): Promise<string> {
  if (file === undefined) return ''
  try {
    const { ino, size, mtimeMs, ctimeMs } = await stat(file)
    return [ino, size, mtimeMs, ctimeMs].join(' ')
  } catch {
    return 'missing' // the next read reports the error
  }
}

async function readSecretFile(path: string, reference: SecretReference): Promise<string> {
  let bytes: Buffer
  try {
    // Without O_NONBLOCK the open of a pipe waits for one that writes, and with it every later read of the configuration.
    const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(LIMIT_BYTES + 1), 0, LIMIT_BYTES + 1, 0)
      bytes = buffer.subarray(0, bytesRead)
    } finally {
      await file.close()
    }
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
    throw new SecretError(reference, isMissing ? 'does not exist' : 'cannot be read', error)
  }
  if (bytes.length > LIMIT_BYTES) throw new SecretError(reference, `is larger than ${LIMIT_BYTES} bytes`)
  return bytes.toString('utf8')
}
