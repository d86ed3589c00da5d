import type { Context } from '../services/context.ts'
import { localContext, withStore } from '../services/stored.ts'
import { appPorts, type Session } from './session.ts'

/** Opens the store of `--store` for the services of one command, once. @throws {CommandError} store_… */
export async function inStore<T>(
  session: Session,
  mode: 'read' | 'write',
  work: (context: Context) => Promise<T>,
): Promise<T> {
  if (mode === 'write') session.signal.throwIfAborted()
  const ports = appPorts(session)
  return withStore(session.flags.store, mode, ports, store => work(localContext(store, ports)))
}
