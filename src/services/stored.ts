import { CommandError } from '../base/catalogue/command.ts'
import { openStore } from '../store/open.ts'
import type { Live, Store } from '../store/types.ts'
import type { AppPorts } from './context.ts'

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
