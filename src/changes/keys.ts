import { keyDigest, mintKey } from '../base/api-key.ts'
import { CommandError } from '../base/catalogue/command.ts'
import type { Random } from '../base/random.ts'
import { hasSecret } from '../store/key-secrets.ts'
import type { Store } from '../store/types.ts'
import { viewKeys } from './key-view.ts'
import { lookUpKey } from './keys-named.ts'
import type { IssuedSecret, KeyView } from './types.ts'

/**
 * Mints the first secret of a key.
 * @throws {CommandError} GW4005 without such a key, GW4006 where it has a secret, minted or brought along.
 */
export async function issueKey(store: Store, random: Random, name: string): Promise<IssuedSecret> {
  assertMintable(await lookUpKey(store, name))
  const secret = mintKey(random)
  await store.issueSecret(name, keyDigest(secret))
  return { key: name, secret }
}

/** @throws {CommandError} GW4005 without such a key, GW4006 where it has a secret, minted or brought along. */
export async function assertIssuable(store: Store, name: string): Promise<void> {
  const key = await lookUpKey(store, name)
  assertMintable(key)
  if (key.activeSecrets > 0) throw hasSecret(name)
}

/**
 * Mints a further secret; the older ones end after `graceMs`, at once where that is 0.
 * @throws {CommandError} GW4005 without such a key, GW4006 where its secret is brought along by the configuration.
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

/** Disables a key at once, until {@link resumeKey} or until its configuration disables it. False where it was held. */
export async function suspendKey(store: Store, name: string): Promise<boolean> {
  await lookUpKey(store, name)
  return store.suspendKey(name)
}

/**
 * Takes back {@link suspendKey}. False where the key was not held.
 * @throws {CommandError} GW4005 without such a key, GW4007 where its configuration disables it.
 */
export async function resumeKey(store: Store, name: string): Promise<boolean> {
  const key = await lookUpKey(store, name)
  if (key.state === 'disabled') {
    const place = key.place && `${key.place.file}:${key.place.line}`
    throw new CommandError(
      'GW4007',
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

/** @throws {CommandError} GW4005 */
export async function showKey(store: Store, name: string): Promise<KeyView> {
  return lookUpKey(store, name)
}

/** A secret that the files bring along is replaced there: a minted one beside it would go on when that one ends. */
function assertMintable({ name, secretSource, place }: KeyView): void {
  if (secretSource !== 'hash' && secretSource !== 'reference') return
  const field = secretSource === 'hash' ? 'hash' : 'secret'
  throw new CommandError('GW4006', `The key ${name} has the secret that its configuration brings along.`, {
    hint: `Replace \`${field}\`${place ? ` in ${place.file}:${place.line}` : ''}, or remove it and issue a secret.`,
  })
}
