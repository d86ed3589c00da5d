// @ts-check
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** @type {number | undefined} */
let ticksPerSecond

/**
 * Microseconds of CPU that a process and all its threads have used, in user and system mode (proc(5), fields 14
 * and 15 of `stat`). Undefined where the system does not tell.
 * @param {number} pid
 * @returns {number | undefined}
 */
export function cpuUs(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    ticksPerSecond ??= Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'latin1' }))
    // The name in field 2 may hold spaces and brackets, so the count begins behind its last bracket.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return ((Number(fields[11]) + Number(fields[12])) * 1e6) / ticksPerSecond
  } catch {
    return undefined
  }
}
