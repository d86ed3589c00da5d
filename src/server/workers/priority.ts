import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'

/**
 * Lowers the priority of the calling thread below that of the gateway. On Linux each thread has a priority of its own,
 * set through its id in `/proc`, and inherits it to the threads that it starts (sched(7), "The nice value"); elsewhere
 * this does nothing.
 *
 * @param niceness from 1 to 19, the lowest priority.
 */
export function lowerPriority(niceness: number): void {
  if (process.platform !== 'linux') return
  try {
    const id = Number(readlinkSync('/proc/thread-self').split('/').at(-1))
    setPriority(id, niceness)
  } catch {
    // A sandbox without `/proc`: the priority stays unchanged.
  }
}
