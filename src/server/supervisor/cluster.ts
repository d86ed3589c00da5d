import cluster from 'node:cluster'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import type { FromWorker, Peer, ServingWorker, ToWorker } from './messages.ts'
import type { WorkerEnd, WorkerProcess } from './supervisor.ts'

export interface ForkPorts {
  /** Gets whole lines that a worker has written on its standard output. */
  readonly out: (text: string) => void
  readonly err: (text: string) => void
}

/** Whether a supervisor has started this process. */
export function isWorker(): boolean {
  return cluster.isWorker
}

/**
 * Starts this command once more, as a worker. Connections to the address that all workers listen on are accepted by
 * this process, and given to them in turn.
 */
export function forkWorker({ out, err }: ForkPorts): WorkerProcess {
  cluster.schedulingPolicy = cluster.SCHED_RR
  cluster.setupPrimary({ silent: true })
  const worker = cluster.fork()
  const { process: child } = worker
  // Lines of several processes on one pipe would mix.
  if (child.stdout) forwardLines(child.stdout, out)
  if (child.stderr) forwardLines(child.stderr, err)
  return {
    pid: child.pid ?? 0,
    serving: new Promise<ServingWorker>(resolve => {
      worker.on('message', (message: FromWorker) => resolve(message))
    }),
    ended: once(child, 'close').then(
      ([code, signal]): WorkerEnd => ({ code: code as number | null, signal: signal as string | null }),
    ),
    send(message) {
      // Fails if it has ended meanwhile, which `ended` reports.
      if (worker.isConnected()) worker.send(message, () => undefined)
    },
    kill: () => void child.kill('SIGKILL'),
  }
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

/** The supervisor, as one of its workers sees it. */
export class SupervisorLink {
  #peers: readonly Peer[] = []
  /** Resolves when this worker must end: the supervisor says so, or has ended. */
  readonly drained: Promise<void>

  constructor() {
    // Otherwise the process ends at once when its supervisor does, with all its calls.
    if (cluster.worker) cluster.worker.exitedAfterDisconnect = true
    this.drained = new Promise(resolve => {
      process.on('message', (message: ToWorker) => {
        if (message.is === 'drain') resolve()
        else this.#peers = message.peers
      })
      process.on('disconnect', resolve)
    })
  }

  /** The workers that serve. */
  get peers(): readonly Peer[] {
    return this.#peers
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
