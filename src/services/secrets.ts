import { CommandError } from '../base/catalogue/command.ts'
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import { NONCE_BYTES, seal, unseal } from '../base/seal.ts'
import { resolveSecret, SecretError } from '../config/secrets.ts'
import { rowOf, type SecretSource, type StoredCredential } from '../schema/stored-credential.ts'
import type { MasterKey } from '../store/master-key.ts'

const ID_BYTES = 12

/** The error of a missing secret. Names the place, never a value. */
export interface MissingSecret extends Error {
  /** How to fix it. */
  readonly hint: string
}

export interface SecretPorts {
  /** The variables that `{ env: NAME }` refers to. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Opens stored credentials. */
  readonly masterKey: Pick<MasterKey, 'read'>
}

/**
 * Resolves a secret source: a variable, a file, or a credential in `kept`.
 * @returns an error if the secret is missing or unusable.
 */
export async function findSecret(
  source: SecretSource,
  kept: readonly StoredCredential[],
  { environment, masterKey }: SecretPorts,
): Promise<string | MissingSecret> {
  try {
    if (!('kept' in source)) return await resolveSecret(source, { environment })
    const row = kept.find(({ boundTo }) => boundTo === source.kept)
    if (!row) {
      const hint = 'Set the credential of the endpoint over REST again.'
      return new CommandError('not_servable', 'the credential that was set over REST is missing', { hint })
    }
    const opened = unseal(row, rowOf(row), await masterKey.read())
    if (opened !== undefined) return opened
    const message = 'this master key does not open the credential that was set over REST'
    return new CommandError('master_key_unusable', message)
  } catch (error) {
    if (error instanceof SecretError || error instanceof CommandError) return error
    throw error
  }
}

/**
 * Seals a secret for one use.
 * @throws {CommandError} master_key_unusable
 */
export async function sealCredential(
  secret: string,
  boundTo: string,
  { masterKey, random, clock }: { masterKey: MasterKey; random: Random; clock: Clock },
): Promise<StoredCredential> {
  const row = { id: Buffer.from(random.bytes(ID_BYTES)).toString('hex'), boundTo }
  const key = await masterKey.readOrCreate(random)
  // A copy: a slice of the random pool would be a view of bytes that are reused later.
  const nonce = Uint8Array.from(random.bytes(NONCE_BYTES))
  return { ...row, ...seal(secret, rowOf(row), key, nonce), createdAtMs: clock.nowMs() }
}
