import { readFile } from 'node:fs/promises'
import type { Log } from '../base/log.ts'

/** Descriptors beside the connections: the store, its journal, the log, pipes of threads. */
const KEPT_FREE = 256
/** Each client connection may need an upstream connection. */
const PER_CONNECTION = 2
const MOST_CONNECTIONS = 20_000

/**
 * The maximum number of client connections: the requested one, or the number that the open-file limit allows.
 * Node raises the soft limit to the hard limit at its start. Only Linux reports the result, in proc(5).
 */
export async function maxConnectionsFor(
  wanted: number | undefined,
  log: Log,
  limits = '/proc/self/limits',
): Promise<number> {
  const text = await readFile(limits, 'utf8').catch(() => '')
  const openFiles = Number(/^Max open files +(\d+)/m.exec(text)?.[1] ?? Number.POSITIVE_INFINITY)
  const fitting = Math.max(1, Math.floor((openFiles - KEPT_FREE) / PER_CONNECTION))
  if (wanted !== undefined && wanted > fitting) {
    log.warn(
      { max_connections: wanted, fitting, open_files: openFiles },
      'the open-file limit is too low for this many connections, each with an upstream connection',
    )
  }
  return wanted ?? Math.min(fitting, MOST_CONNECTIONS)
}
