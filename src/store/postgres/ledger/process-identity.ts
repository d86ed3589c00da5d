import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import process from 'node:process'

/** A process, so that another one of the same machine can tell whether it has ended. */
export interface ProcessIdentity {
  readonly host: string
  /** In which process ids have one meaning: a boot of a machine, and a container in it. Empty: unknown. */
  readonly space: string
  readonly pid: number
  /** When it was started, in ticks: process ids are used again. */
  readonly start: string
}

/** Of this process. */
export function ownIdentity(): ProcessIdentity {
  const start = startOf(process.pid)
  return {
    host: hostname(),
    space: start === undefined ? '' : processSpace(),
    pid: process.pid,
    start: start ?? '',
  }
}

/** Whether a process has ended for certain; false if nothing tells. */
export function hasEnded(other: ProcessIdentity, own: ProcessIdentity): boolean {
  if (!isSeen(other, own)) return false
  const start = startOf(other.pid)
  return start === undefined ? isMissing(other.pid) : start !== other.start
}

/** Whether a process is there for certain, running or stopped; false if nothing tells. */
export function isRunning(other: ProcessIdentity, own: ProcessIdentity): boolean {
  return isSeen(other, own) && startOf(other.pid) === other.start
}

function isSeen({ host, space }: ProcessIdentity, own: ProcessIdentity): boolean {
  return space !== '' && host === own.host && space === own.space
}

function processSpace(): string {
  try {
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()} ${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    // Not Linux, or not permitted: then only leases tell.
    return ''
  }
}

/** Also a process of another user, of which /proc may show nothing (hidepid). */
function isMissing(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}

/** Undefined if there is no such process, or it is hidden. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The second field is a name in parentheses, which may contain anything; the start time is the 22nd.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
  } catch {
    return undefined
  }
}
