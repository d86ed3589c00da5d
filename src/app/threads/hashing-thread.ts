import { scryptSync } from 'node:crypto'
import { readlinkSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { parentPort } from 'node:worker_threads'
import type { Derivation } from '../../base/password.ts'
import type { Derived } from './hashing.ts'

/**
 * The thread that hashes passwords. A hash keeps a core busy for a fifth of a second: where the gateway has a use for
 * it, the gateway comes first. Linux gives each thread a priority of its own, by the id under which `/proc` knows it
 * (sched(7), "The nice value"); elsewhere it hashes like every other thread. After each hash it rests for twice
 * as long as that took: a line of people has a third of a core at most, and no more of the disk that their sessions are
 * written to.
 */
const port = parentPort
if (!port) throw new Error('hashing-thread.ts runs in a thread')

if (process.platform === 'linux') comeBehind()

let rested: Promise<unknown> = Promise.resolve()
port.on('message', (derivation: Derivation) => {
  rested = rested.then(() => {
    const startedMs = performance.now()
    port.postMessage(derived(derivation))
    return pause(2 * (performance.now() - startedMs))
  })
})

function comeBehind(): void {
  try {
    const id = Number(readlinkSync('/proc/thread-self').split('/').at(-1))
    setPriority(id, constants.priority.PRIORITY_LOW)
  } catch {
    // A sandbox without `/proc`: log-ins work all the same.
  }
}

function derived({ password, salt, lengthBytes, options }: Derivation): Derived {
  try {
    return { ok: true, hash: scryptSync(password, salt, lengthBytes, options) }
  } catch (error) {
    return { ok: false, message: String(error) }
  }
}
