import { userInfo } from 'node:os'
import type { Readable, Writable } from 'node:stream'
import { type Clock, systemClock } from '../base/clock.ts'
import { type Random, systemRandom } from '../base/random.ts'

/** A stream to write on, which may be a terminal. */
export interface Sink extends Writable {
  readonly isTTY?: boolean | undefined
  /** Width of the terminal in characters. */
  readonly columns?: number | undefined
}

/** A stream to read from, which may be a terminal. */
export interface Source extends Readable {
  readonly isTTY?: boolean | undefined
  /** Of a terminal: whether each key comes at once, and none is shown. */
  setRawMode?(raw: boolean): unknown
}

/** The signals that ask a command to end. */
export const ENDING_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
export type EndingSignal = (typeof ENDING_SIGNALS)[number]

export interface Signals {
  on(signal: EndingSignal, listener: () => void): unknown
  off(signal: EndingSignal, listener: () => void): unknown
  /** The process ends, by whatever way but a signal that nobody listens to. */
  on(event: 'exit', listener: () => void): unknown
  off(event: 'exit', listener: () => void): unknown
}

/** The world as a command sees it. A test owns each part of it. */
export interface Io {
  readonly stdout: Sink
  readonly stderr: Sink
  readonly stdin: Source
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Absolute path from which relative ones count. */
  readonly cwd: string
  readonly clock: Clock
  readonly random: Random
  readonly signals: Signals
}

/** What cron and systemd leave out: who is at work, by the system's own account. */
function withUser(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  if (environment['USER'] || environment['LOGNAME']) return environment
  try {
    return { ...environment, USER: userInfo().username }
  } catch {
    return environment // a user id without an account, as containers have it
  }
}

/** The world of a real process. Its stdin is opened by the first look at it, so it is looked at late. */
export function processIo(host: NodeJS.Process): Io {
  return {
    stdout: host.stdout,
    stderr: host.stderr,
    get stdin() {
      return host.stdin
    },
    environment: withUser(host.env),
    cwd: host.cwd(),
    clock: systemClock,
    random: systemRandom,
    signals: host,
  }
}
