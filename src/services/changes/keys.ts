import { keyDigest, mintKey } from '../../base/api-key.ts'
import { CommandError } from '../../base/catalogue/command.ts'
import type { Random } from '../../base/random.ts'
import { hasSecret } from '../../store/key-secrets.ts'
import type { Store } from '../../store/types.ts'
import { viewKeys } from './key-view.ts'
import { lookUpKey } from './keys-named.ts'
import type { IssuedSecret, KeyView } from './types.ts'

/**
 * Mints the first secret of a key.
 * @throws {CommandError} not_found if the key does not exist, has_secret if it has a minted or configured secret.
 */
export async function issueKey(store: Store, random: Random, name: string): Promise<IssuedSecret> {
  assertMintable(await lookUpKey(store, name))
  const secret = mintKey(random)
  await store.issueSecret(name, keyDigest(secret))
  return { key: name, secret }
}

/** @throws {CommandError} not_found if the key does not exist, has_secret if it has a minted or configured secret. */
export async function assertIssuable(store: Store, name: string): Promise<void> {
  const key = await lookUpKey(store, name)
  assertMintable(key)
  if (key.activeSecrets > 0) throw hasSecret(name)
}

/**
 * Mints a further secret. The older ones expire after `graceMs`, at once for 0.
 * @throws {CommandError} not_found if the key does not exist, has_secret if its secret is in the configuration.
 */
export async function rotateKey(
  store: Store,
  random: Random,
  name: string,
  graceMs: number,
): Promise<IssuedSecret> {
  const key = await lookUpKey(store, name)
  assertMintable(key)
  const secret = mintKey(random)
  const { createdAtMs } = await store.rotateSecret(name, keyDigest(secret), graceMs)
  const hasGrace = graceMs > 0 && key.activeSecrets > 0
  return { key: name, secret, ...(hasGrace && { graceUntilMs: createdAtMs + graceMs }) }
}

/**
 * Disables a key until {@link resumeKey}, or until its configuration disables it. False if it was suspended already.
 */
export async function suspendKey(store: Store, name: string): Promise<boolean> {
  await lookUpKey(store, name)
  return store.suspendKey(name)
}

/**
 * Reverts {@link suspendKey}. False if the key was not suspended.
 * @throws {CommandError} not_found if the key does not exist, disabled_in_file if its configuration disables it.
 */
export async function resumeKey(store: Store, name: string): Promise<boolean> {
  const key = await lookUpKey(store, name)
  if (key.state === 'disabled') {
    const place = key.place && `${key.place.file}:${key.place.line}`
    throw new CommandError(
      'disabled_in_file',
      `The key ${name} is disabled in its configuration${place ? `, ${place}` : ''}.`,
      place ? { hint: `Set \`enabled: true\` in ${place}, and apply.` } : {},
    )
  }
  return store.resumeKey(name)
}

/** All keys, sorted by name. */
export async function listKeys(store: Store): Promise<KeyView[]> {
  return viewKeys(await store.live())
}

/** @throws {CommandError} not_found */
export async function showKey(store: Store, name: string): Promise<KeyView> {
  return lookUpKey(store, name)
}

/** A configured secret must be replaced in its file: a minted one would stay valid after the configured one ends. */
function assertMintable({ name, secretSource, place }: KeyView): void {
  if (secretSource !== 'hash' && secretSource !== 'reference') return
  const field = secretSource === 'hash' ? 'hash' : 'secret'
  throw new CommandError('has_secret', `The key ${name} has a secret in its configuration.`, {
    hint: `Replace \`${field}\`${place ? ` in ${place.file}:${place.line}` : ''}, or remove it and issue a secret.`,
  })
}
