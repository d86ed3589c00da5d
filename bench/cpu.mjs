// @ts-check
import { readdirSync, readFileSync } from 'node:fs'

/**
 * What a process has used so far (Linux only; undefined elsewhere).
 *
 * @typedef {object} Used
 * @property {number} allUs microseconds of CPU of all its threads, user and system mode
 * @property {number} mainUs of its main thread, where the event loop runs
 */

/**
 * Counted by the scheduler in nanoseconds (`schedstat`), thread by thread.
 * @param {number} pid
 * @returns {Used | undefined}
 */
export function cpu(pid) {
  try {
    let allUs = 0
    let mainUs = 0
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      const us = Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1').split(' ')[0]) / 1e3
      allUs += us
      if (thread === String(pid)) mainUs = us
    }
    return { allUs, mainUs }
  } catch {
    return undefined
  }
}

/**
 * What the threads of a name have used so far, in microseconds; NaN if the system does not tell.
 * @param {number} pid
 * @param {string} name
 */
export function threadUs(pid, name) {
  try {
    return readdirSync(`/proc/${pid}/task`)
      .map(thread => `/proc/${pid}/task/${thread}`)
      .filter(thread => readFileSync(`${thread}/comm`, 'latin1').trim() === name)
      .map(thread => Number(readFileSync(`${thread}/schedstat`, 'latin1').split(' ')[0]) / 1e3)
      .reduce((sum, us) => sum + us, 0)
  } catch {
    return Number.NaN
  }
}

/**
 * Kilobytes of memory that a process has in use; undefined if the system does not tell.
 * @param {number} pid
 * @returns {number | undefined}
 */
export function residentKb(pid) {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1])
  } catch {
    return undefined
  }
}
