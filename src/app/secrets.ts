import { CommandError } from '../base/catalogue/command.ts'
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import { NONCE_BYTES, seal, unseal } from '../base/seal.ts'
import { resolveSecret, SecretError } from '../config/secrets.ts'
import { rowOf, type SecretSource, type StoredCredential } from '../schema/stored-credential.ts'
import type { MasterKey } from '../store/master-key.ts'

const ID_BYTES = 12

/** Why there is no secret where one should be. Tells where, never what was found. */
export interface MissingSecret extends Error {
  /** What would hint it. */
  readonly hint: string
}

export interface SecretPorts {
  /** The variables that `{ env: NAME }` refers to. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Opens what is kept. */
  readonly masterKey: Pick<MasterKey, 'read'>
}

/**
 * The secret that a source leads to: of a variable, of a file, or out of what is `kept`.
 * @returns why not, where there is none that can be used.
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
      const hint = 'Give the endpoint its credential over REST again.'
      return new CommandError('GW3002', 'the credential that was given over REST is not there', { hint })
    }
    const opened = unseal(row, rowOf(row), await masterKey.read())
    if (opened !== undefined) return opened
    const message = 'the credential that was given over REST is not opened by this master key'
    return new CommandError('GW2008', message)
  } catch (error) {
    if (error instanceof SecretError || error instanceof CommandError) return error
    throw error
  }
}

/**
 * Seals a secret for one use.
 * @throws {CommandError} GW2008
 */
export async function keep(
  secret: string,
  boundTo: string,
  { masterKey, random, clock }: { masterKey: MasterKey; random: Random; clock: Clock },
): Promise<StoredCredential> {
  const row = { id: Buffer.from(random.bytes(ID_BYTES)).toString('hex'), boundTo }
  const key = await masterKey.readOrCreate(random)
  // Of its own: a slice of a pool would be a view on what others are given next.
  const nonce = Uint8Array.from(random.bytes(NONCE_BYTES))
  return { ...row, ...seal(secret, rowOf(row), key, nonce), createdAtMs: clock.nowMs() }
}
