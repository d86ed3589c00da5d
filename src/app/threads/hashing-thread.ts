import { scryptSync } from 'node:crypto'
import { constants } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { parentPort } from 'node:worker_threads'
import type { Derivation } from '../../base/password.ts'
import type { Derived } from './hashing.ts'
import { comeBehind } from './priority.ts'

/**
 * The thread that hashes passwords. A hash keeps a core busy for a fifth of a second: where the gateway has a use for
 * it, the gateway comes first, and so does the rest of the control plane. After each hash it rests for twice as long as
 * that took: a line of people has a third of a core at most, and no more of the disk that their sessions are written to.
 */
const port = parentPort
if (!port) throw new Error('hashing-thread.ts runs in a thread')

comeBehind(constants.priority.PRIORITY_LOW)

let rested: Promise<unknown> = Promise.resolve()
port.on('message', (derivation: Derivation) => {
  rested = rested.then(() => {
    const startedMs = performance.now()
    port.postMessage(derived(derivation))
    return pause(2 * (performance.now() - startedMs))
  })
})

function derived({ password, salt, lengthBytes, options }: Derivation): Derived {
  try {
    return { ok: true, hash: scryptSync(password, salt, lengthBytes, options) }
  } catch (error) {
    return { ok: false, message: String(error) }
  }
}
