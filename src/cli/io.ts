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
  /** Of a terminal: raw mode delivers each key at once and shows none. */
  setRawMode?(raw: boolean): unknown
}

/** The signals that ask a command to end. */
export const ENDING_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
export type EndingSignal = (typeof ENDING_SIGNALS)[number]

export interface Signals {
  on(signal: EndingSignal, listener: () => void): unknown
  off(signal: EndingSignal, listener: () => void): unknown
  /** The process exits, in any way but by a signal without a listener. */
  on(event: 'exit', listener: () => void): unknown
  off(event: 'exit', listener: () => void): unknown
}

/** The environment of a command. Tests replace each part of it. */
export interface Io {
  readonly stdout: Sink
  readonly stderr: Sink
  readonly stdin: Source
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Absolute; relative paths are resolved against it. */
  readonly cwd: string
  readonly clock: Clock
  readonly random: Random
  readonly signals: Signals
  /** Ends the process although something keeps it alive. */
  exit(): void
}

/** Adds the user name of the system account, which cron and systemd do not set. */
function withUser(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  if (environment['USER'] || environment['LOGNAME']) return environment
  try {
    return { ...environment, USER: userInfo().username }
  } catch {
    return environment // a user id without an account, as in containers
  }
}

/** The environment of a real process. The first access to `stdin` opens it, hence the getter. */
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
    exit: () => host.exit(),
  }
}

/** Reads stdin to its end. @throws the reason of the signal if it is aborted first; the rest stays unread. */
export async function readStdin(io: Pick<Io, 'stdin'>, signal: AbortSignal): Promise<Buffer> {
  signal.throwIfAborted()
  const { stdin } = io
  const hangUp = () => stdin.destroy()
  signal.addEventListener('abort', hangUp, { once: true })
  const chunks: Buffer[] = []
  try {
    for await (const chunk of stdin) chunks.push(Buffer.from(chunk as Uint8Array))
  } catch (error) {
    signal.throwIfAborted()
    throw error
  } finally {
    signal.removeEventListener('abort', hangUp)
  }
  signal.throwIfAborted()
  return Buffer.concat(chunks)
}
