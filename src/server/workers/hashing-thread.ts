import { scryptSync } from 'node:crypto'
import { constants } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { parentPort } from 'node:worker_threads'
import type { HashingThread } from './hashing.ts'
import { lowerPriority } from './priority.ts'
import { callsOver } from './worker-rpc.ts'

/**
 * The thread that hashes passwords. A hash occupies a core for a fifth of a second; the gateway and the rest of the
 * control plane have priority. After each hash the thread pauses for twice its duration, so that a queue of log-ins
 * uses at most a third of a core, and the same share of the disk that sessions are written to.
 */
if (!parentPort) throw new Error('hashing-thread.ts runs in a thread')

lowerPriority(constants.priority.PRIORITY_LOW)

let idle: Promise<unknown> = Promise.resolve()
callsOver<object, HashingThread>(parentPort, {
  derive: ({ password, salt, lengthBytes, options }) =>
    new Promise((resolve, reject) => {
      idle = idle.then(() => {
        const startedMs = performance.now()
        try {
          resolve(scryptSync(password, salt, lengthBytes, options))
        } catch (error) {
          reject(error)
        }
        return pause(2 * (performance.now() - startedMs))
      })
    }),
})
