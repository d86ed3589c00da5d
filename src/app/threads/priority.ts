import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'

/**
 * Puts the thread that calls this behind the gateway's: where both have a use for a core, the gateway comes first.
 * Linux gives each thread a priority of its own, by the id under which `/proc` knows it, and a thread those of whom it
 * starts (sched(7), "The nice value"); elsewhere it stays as it is.
 *
 * @param niceness from 1 to 19, the lowest priority.
 */
export function comeBehind(niceness: number): void {
  if (process.platform !== 'linux') return
  try {
    const id = Number(readlinkSync('/proc/thread-self').split('/').at(-1))
    setPriority(id, niceness)
  } catch {
    // A sandbox without `/proc`: everything works all the same.
  }
}
