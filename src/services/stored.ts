import { CommandError } from '../base/catalogue/command.ts'
import { PasswordHasher } from '../base/password.ts'
import { openStore } from '../store/open.ts'
import type { Live, Store } from '../store/types.ts'
import type { AppPorts, Context } from './context.ts'
import { loggedIn } from './revision-author.ts'
import { wouldServe } from './serve-check.ts'

type StorePorts = Pick<AppPorts, 'clock' | 'cwd'>

/** Opens the store for the duration of `work`, and closes it in any case. */
export async function withStore<T>(
  url: string,
  mode: 'read' | 'write' | 'create',
  ports: StorePorts,
  work: (store: Store) => Promise<T>,
): Promise<T> {
  const store = await openStore(url, { mode, clock: ports.clock, folder: ports.cwd })
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

/** The context of operations by the user who is logged in to this machine. */
export function localContext(store: Store, ports: Omit<AppPorts, 'cwd' | 'readStdin'>): Context {
  const { clock, random, signal, environment } = ports
  const { author: name } = loggedIn(environment)
  return {
    store,
    actor: { origin: 'cli', ...(name !== undefined && { name }), role: 'operator' },
    clock,
    random,
    signal,
    check: wouldServe(signal),
    hasher: new PasswordHasher({ random, atOnce: 1, maxWaiting: 1 }),
    auditLog: store.users,
  }
}

/**
 * The live state of the store; empty if the store does not exist yet. `upgrade` migrates a store of an older gw,
 * `read` changes nothing.
 */
export async function liveOrEmpty(url: string, mode: 'read' | 'upgrade', ports: StorePorts): Promise<Live> {
  try {
    return await withStore(url, 'read', ports, store => store.live())
  } catch (error) {
    if (!(error instanceof CommandError)) throw error
    if (error.code === 'store_missing') return emptyState(ports.clock.nowMs())
    if (error.code === 'store_outdated' && mode === 'upgrade') {
      return withStore(url, 'write', ports, store => store.live())
    }
    throw error
  }
}

function emptyState(atMs: number): Live {
  return { head: { revision: 0, keyVersion: 0 }, atMs, resources: [], secrets: [], holds: [] }
}
