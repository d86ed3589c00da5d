import { readFile } from 'node:fs/promises'
import type { Log } from '../base/log.ts'

/** What a gateway opens beside its connections: the store, its journal, the log, pipes of threads. */
const KEPT_FREE = 256
/** Each connection of a client may need one to an upstream. */
const PER_CONNECTION = 2
const MOST_CONNECTIONS = 20_000

/**
 * How many clients may be connected at a time: what was asked for, or what the system's limit of open files allows.
 *
 * Node raises the soft limit to the hard one when it starts; only Linux tells what came of it, in proc(5).
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
      'the limit of open files is low for so many connections, each with an upstream of its own',
    )
  }
  return wanted ?? Math.min(fitting, MOST_CONNECTIONS)
}
