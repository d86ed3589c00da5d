import type { ChildProcess } from 'node:child_process'
import cluster, { type Worker as ClusterWorker } from 'node:cluster'
import type { Readable } from 'node:stream'
import { healthReason } from '../../base/catalogue/health.ts'
import type { FromWorker, Peer, ServingWorker, ToWorker, WorkersMessage } from './messages.ts'
import type { WorkerEnd, WorkerProcess } from './supervisor.ts'

export interface ForkPorts {
  /** Gets whole lines that a worker has written on its standard output. */
  readonly out: (text: string) => void
  readonly err: (text: string) => void
  /** How many listening sockets this process has inherited; workers inherit them too. */
  readonly sockets: number
}

/** Whether a supervisor has started this process. */
export function isWorker(): boolean {
  return cluster.isWorker
}

const STANDARD_STREAMS = ['ignore', 'pipe', 'pipe'] as const

/**
 * Starts this command once more, as a worker. Connections to the address that all workers listen on are accepted by
 * this process, and given to them in turn; on an inherited socket each worker accepts by itself, so that none is accepted by
 * a process that ends.
 */
export function forkWorker({ out, err, sockets }: ForkPorts): WorkerProcess {
  cluster.schedulingPolicy = cluster.SCHED_RR
  const inherited = Array.from({ length: sockets }, (_, index) => STANDARD_STREAMS.length + index)
  cluster.setupPrimary({ stdio: [...STANDARD_STREAMS, ...inherited, 'ipc'] })
  let worker: ClusterWorker
  try {
    worker = cluster.fork()
  } catch (error) {
    return notStarted((error as Error).message)
  }
  const { process: child } = worker
  closeUntaken(child)
  // Lines of several processes on one pipe would mix.
  if (child.stdout) forwardLines(child.stdout, out)
  if (child.stderr) forwardLines(child.stderr, err)
  return {
    pid: child.pid ?? 0,
    serving: new Promise<ServingWorker>(resolve => {
      worker.on('message', (message: FromWorker) => resolve(message))
    }),
    ended: endOf(worker),
    send(message) {
      // Fails if it has ended meanwhile, which `ended` reports.
      if (worker.isConnected()) worker.send(message, () => undefined)
    },
    kill: () => void child.kill('SIGKILL'),
  }
}

/** A worker whose process the system could not start. */
function notStarted(fault: string): WorkerProcess {
  return {
    pid: 0,
    serving: new Promise(() => undefined),
    ended: Promise.resolve({ code: null, signal: null, fault }),
    send: () => undefined,
    kill: () => undefined,
  }
}

function endOf(worker: ClusterWorker): Promise<WorkerEnd> {
  const { process: child } = worker
  return new Promise(resolve => {
    child.once('close', (code, signal) => resolve({ code, signal }))
    // Without a listener an error ends this process. Of a process that was started it is about a message that did not arrive.
    worker.on('error', error => {
      if (child.pid === undefined) resolve({ code: null, signal: null, fault: error.message })
    })
  })
}

/** A connection that this process has accepted, as node:cluster sends it to a worker. */
interface AcceptedConnection {
  /** Below zero once it is closed. */
  readonly fd: number
  close(): void
}

/** Who was given a connection last. */
const takers = new WeakMap<AcceptedConnection, ChildProcess>()

/**
 * node:cluster closes its copy of a connection when the worker has taken it. If the worker dies before, it stays open
 * (Node 22 to 26), and the client waits for ever: closed here, so that the client tries again.
 */
function closeUntaken(child: ChildProcess): void {
  const given = new Set<AcceptedConnection>()
  const send = child.send.bind(child) as (...args: unknown[]) => boolean
  child.send = (...args: unknown[]) => {
    const [message, handle] = args
    if (isAccepted(message, handle)) {
      for (const earlier of given) if (earlier.fd < 0) given.delete(earlier)
      given.add(handle)
      takers.set(handle, child)
    }
    return send(...args)
  }
  child.once('exit', () => {
    for (const handle of given) if (handle.fd >= 0 && takers.get(handle) === child) handle.close()
  })
}

function isAccepted(message: unknown, handle: unknown): handle is AcceptedConnection {
  if (typeof message !== 'object' || message === null || !('act' in message) || message.act !== 'newconn')
    return false
  return typeof handle === 'object' && handle !== null && 'fd' in handle && 'close' in handle
}

function forwardLines(stream: Readable, write: (text: string) => void): void {
  let rest = ''
  stream.setEncoding('utf8')
  stream.on('data', (text: string) => {
    const end = text.lastIndexOf('\n') + 1
    if (end > 0) {
      write(rest + text.slice(0, end))
      rest = ''
    }
    rest += text.slice(end)
  })
  stream.on('end', () => {
    if (rest !== '') write(`${rest}\n`)
  })
}

/** Why a gateway of several workers is degraded. */
export function missingReasons(missing: number, wanted: number): string[] {
  return missing > 0 ? [healthReason('workers_missing', `${missing} of ${wanted}`)] : []
}

/** The supervisor, as one of its workers sees it. */
export class SupervisorLink {
  #workers: Omit<WorkersMessage, 'is'> = { peers: [], wanted: 0, reasons: [] }
  /** Resolves when this worker must end: the supervisor says so, or has ended. */
  readonly drained: Promise<void>

  constructor() {
    // Otherwise the process ends at once when its supervisor does, with all its calls.
    if (cluster.worker) cluster.worker.exitedAfterDisconnect = true
    this.drained = new Promise(resolve => {
      process.on('message', (message: ToWorker) => {
        if (message.is === 'drain') resolve()
        else this.#workers = message
      })
      process.on('disconnect', resolve)
    })
  }

  /** The workers that serve. */
  get peers(): readonly Peer[] {
    return this.#workers.peers
  }

  /** Any worker may be asked for `/health`, and speaks for all. */
  reasons(): string[] {
    const { wanted, reasons } = this.#workers
    return [...missingReasons(wanted - this.peers.length, wanted), ...reasons]
  }

  get supervisorPid(): number {
    return process.ppid
  }

  serving(message: Omit<ServingWorker, 'is'>): void {
    process.send?.({ is: 'serving', ...message } satisfies FromWorker)
  }

  /** The process ends when nothing else keeps it alive. */
  close(): void {
    if (process.connected) process.disconnect()
  }
}
