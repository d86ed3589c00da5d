import type { Context } from '../services/context.ts'
import { type CommandStore, localContext, withCommandStore, withStore } from '../services/stored.ts'
import { appPorts, type Session } from './session.ts'

/** Opens the store of `--store` for the services of one command, once. @throws {CommandError} store_… */
export async function inStore<T>(
  session: Session,
  mode: 'read' | 'write' | 'create',
  work: (context: Context) => Promise<T>,
): Promise<T> {
  if (mode !== 'read') session.signal.throwIfAborted()
  const ports = appPorts(session)
  return withStore(session.flags.store, mode, ports, store => work(localContext(store, ports)))
}

/** The same for a store that may not exist yet. */
export function inCommandStore<T>(
  session: Session,
  mode: 'read' | 'write',
  work: (stored: CommandStore) => Promise<T>,
): Promise<T> {
  return withCommandStore(session.flags.store, mode, appPorts(session), work)
}
