import { scryptSync } from 'node:crypto'
import { constants } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { parentPort } from 'node:worker_threads'
import type { HashingThread } from './hashing.ts'
import { comeBehind } from './priority.ts'
import { callsOver } from './worker-rpc.ts'

/**
 * The thread that hashes passwords. A hash keeps a core busy for a fifth of a second: where the gateway has a use for
 * it, the gateway comes first, and so does the rest of the control plane. After each hash it rests for twice as long as
 * that took: a line of people has a third of a core at most, and no more of the disk that their sessions are written to.
 */
if (!parentPort) throw new Error('hashing-thread.ts runs in a thread')

comeBehind(constants.priority.PRIORITY_LOW)

let rested: Promise<unknown> = Promise.resolve()
callsOver<object, HashingThread>(parentPort, {
  derive: ({ password, salt, lengthBytes, options }) =>
    new Promise((resolve, reject) => {
      rested = rested.then(() => {
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
