import { scryptSync } from 'node:crypto'
import { readlinkSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import type { Derivation } from '../../base/password.ts'
import type { Derived } from './hashing.ts'

/**
 * The thread that hashes passwords. A hash keeps a core busy for a fifth of a second: where the gateway has a use for
 * it, the gateway comes first. Linux gives each thread a priority of its own, by the id under which `/proc` knows it
 * (sched(7), "The nice value"); elsewhere it hashes like every other thread.
 */
const port = parentPort
if (!port) throw new Error('hashing-thread.ts runs in a thread')

if (process.platform === 'linux') comeBehind()

port.on('message', (derivation: Derivation) => port.postMessage(derived(derivation)))

function comeBehind(): void {
  try {
    const id = Number(readlinkSync('/proc/thread-self').split('/').at(-1))
    setPriority(id, constants.priority.PRIORITY_BELOW_NORMAL)
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
