import * as keys from '../changes/keys.ts'
import type { IssuedSecret, KeyView } from '../changes/types.ts'
import type { AppPorts } from './ports.ts'
import { withStore } from './stored.ts'

type KeyPorts = Pick<AppPorts, 'clock' | 'cwd' | 'chance' | 'signal'>

/** @throws {CommandError} GW2xxx, GW4005, GW4006 */
export async function issueKey(name: string, storeUrl: string, ports: KeyPorts): Promise<IssuedSecret> {
  ports.signal.throwIfAborted()
  return withStore(storeUrl, 'write', ports, store => keys.issueKey(store, ports.chance, name))
}

/**
 * @param graceMs how long the older secrets still work; 0 ends them at once.
 * @throws {CommandError} GW2xxx, GW4005, GW4006
 */
export async function rotateKey(
  name: string,
  graceMs: number,
  storeUrl: string,
  ports: KeyPorts,
): Promise<IssuedSecret> {
  ports.signal.throwIfAborted()
  return withStore(storeUrl, 'write', ports, store => keys.rotateKey(store, ports.chance, name, graceMs))
}

/** Stops a key by hand. False where it was stopped already. @throws {CommandError} GW2xxx, GW4005 */
export async function disableKey(name: string, storeUrl: string, ports: KeyPorts): Promise<boolean> {
  ports.signal.throwIfAborted()
  return withStore(storeUrl, 'write', ports, store => keys.holdKey(store, name))
}

/** Takes {@link disableKey} back. False where there was nothing to take back. @throws GW2xxx, GW4005, GW4007 */
export async function enableKey(name: string, storeUrl: string, ports: KeyPorts): Promise<boolean> {
  ports.signal.throwIfAborted()
  return withStore(storeUrl, 'write', ports, store => keys.releaseKey(store, name))
}

/** All keys, sorted by name. @throws {CommandError} GW2xxx */
export async function listKeys(storeUrl: string, ports: KeyPorts): Promise<readonly KeyView[]> {
  return withStore(storeUrl, 'read', ports, keys.listKeys)
}

/** @throws {CommandError} GW2xxx, GW4005 */
export async function showKey(name: string, storeUrl: string, ports: KeyPorts): Promise<KeyView> {
  return withStore(storeUrl, 'read', ports, store => keys.showKey(store, name))
}
