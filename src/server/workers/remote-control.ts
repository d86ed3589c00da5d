import { Worker } from 'node:worker_threads'
import type { Clock, Timer } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { ListenAddress, Listener } from '../../http/listen.ts'
import type { HealthAnswer } from '../../services/health.ts'
import type { OwnGateway } from '../../services/live-stats/ask-gateway.ts'
import type { NodeActivity } from '../../services/nodes.ts'
import type { View } from '../../services/why/decide.ts'
import type { ExplainQuery } from '../../services/why/explain.ts'
import type { Explanation } from '../../services/why/to-json.ts'
import type { Store } from '../../store/types.ts'
import type { EndpointHealth } from '../../upstream/routing/endpoint-state.ts'
import { type Calls, callsOver, endCalls } from './worker-rpc.ts'

/** The options of the control plane: all of them cross as data. */
export interface ControlOptions {
  readonly address: ListenAddress
  /** The store's URL. */
  readonly storeUrl: string
  /** The URL for browsers if a proxy in front terminates TLS. */
  readonly publicUrl: string | undefined
  /** Addresses and networks of proxies whose forwarding headers are trusted. */
  readonly trustedProxies: readonly string[]
  /** The version of gw, for the API document. */
  readonly version: string
  /** Whether the web console is served. */
  readonly hasConsole: boolean
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly logLevel: Log['level']
}

/** The functions of the control-plane thread. */
export interface ControlThread {
  /** @returns the URL. @throws what `openControl` throws, and the system's error if the address is not available. */
  open(options: ControlOptions): Promise<string>
  /** Like `find` of the store. */
  find(...query: Parameters<Store['find']>): ReturnType<Store['find']>
  /** See {@link Listener}. */
  close(...words: Parameters<Listener['close']>): Promise<void>
}

/** The functions of the main thread for the control plane. */
export interface MainThread {
  health(): HealthAnswer
  /** The health of the endpoints; empty if this process sends no traffic. */
  endpoints(): readonly EndpointHealth[]
  nodeActivity(): NodeActivity
  /** What the gateway of this process says for live statistics; undefined if there is none. */
  ownGateway(): OwnGateway | undefined
  /**
   * Answers from the state of the gateway in this process; undefined if there is none.
   * @throws {CommandError} not_found if no key has that name.
   */
  explain(question: ExplainQuery): Promise<Explanation | undefined>
  /** Complete log lines, as a batch; a flush follows after an error. */
  writeLines(lines: string): void
  flushLines(): void
}

/** The ports of the control plane in the main thread. */
export interface RemoteControlPorts
  extends Omit<ControlOptions, 'address' | 'publicUrl' | 'logLevel'>,
    Pick<MainThread, 'health' | 'endpoints' | 'nodeActivity' | 'ownGateway'> {
  readonly publicUrl: URL | undefined
  /** The state of the gateway in this process; undefined if there is none. */
  readonly view: () => View | undefined
  /** Called when the thread has ended by itself. */
  readonly onDeath: (error: Error) => void
  /** Aborts a start in progress. */
  readonly signal?: AbortSignal
  /** The folder of compiled thread modules, if not this one: tests run those of the build. */
  readonly threadsUrl?: URL
  readonly clock: Clock
  readonly log: Log
}

const MODULE = new URL('./control-thread.js', import.meta.url)
/** A thread inside an SQLite query receives no message and cannot be terminated: the longest wait for it. */
const UNRESPONSIVE_MS = 1_000

/**
 * Starts the control plane in a thread, so that its requests never block the gateway's event loop. The thread requests
 * state that only the gateway has, one message each.
 *
 * @returns undefined if the signal aborted first.
 * @throws {CommandError} store_…; usage if the first administrator cannot be created; the system's error if the
 * address is not available.
 */
export async function openRemoteControl(
  address: ListenAddress,
  ports: RemoteControlPorts,
): Promise<Pick<Listener, 'url' | 'close'> | undefined> {
  const {
    clock,
    log,
    signal,
    storeUrl,
    publicUrl,
    trustedProxies,
    version,
    hasConsole,
    environment,
    cwd,
    threadsUrl,
    onDeath,
  } = ports
  const worker = new Worker(threadsUrl ? new URL('control-thread.js', threadsUrl) : MODULE, {
    name: 'control',
    // The thread runs its own module, so it must not inherit the arguments of the process.
    execArgv: [],
  })
  const control: Calls<ControlThread, MainThread> = callsOver(worker, {
    health: ports.health,
    endpoints: ports.endpoints,
    nodeActivity: ports.nodeActivity,
    ownGateway: ports.ownGateway,
    explain: question => explainHere(question, ports, { find: query => control.find(query) }),
    writeLines: lines => {
      for (const line of lines.match(/[^\n]+\n/g) ?? []) log.lines.write(line)
    },
    flushLines: () => log.lines.flush?.(),
  })
  let isEnding = false
  let hasExited = false
  const exited = new Promise<void>(resolve => {
    let fault = new Error('the thread of the control plane has ended')
    worker.on('error', error => {
      fault = new Error('the thread of the control plane has failed', { cause: error })
    })
    worker.once('exit', () => {
      hasExited = true
      resolve()
      endCalls(control, fault)
      if (isEnding) return
      log.error({ err: fault }, 'the control plane has ended')
      onDeath(fault)
    })
  })
  const end = async (): Promise<void> => {
    isEnding = true
    await within(UNRESPONSIVE_MS, worker.terminate(), clock)
  }
  try {
    const opening = control.open({
      address,
      storeUrl,
      publicUrl: publicUrl?.href,
      trustedProxies,
      version,
      hasConsole,
      // A copy: `process.env` itself cannot be cloned.
      environment: { ...environment },
      cwd,
      logLevel: log.level,
    })
    const url = await unlessAborted(opening, signal)
    if (url === undefined) {
      await end()
      return undefined
    }
    return {
      url,
      async close(graceMs, noticeMs) {
        isEnding = true
        const closing = control.close(graceMs, noticeMs).catch((error: unknown) => {
          if (!hasExited) log.error({ err: error }, 'the control plane did not close cleanly')
        })
        // Charges and the store's lease do not wait for a slow control-plane query.
        await within(graceMs + UNRESPONSIVE_MS, Promise.race([closing, exited]), clock)
        await end()
      },
    }
  } catch (error) {
    await end()
    throw error
  }
}

/** The result of `work`, or undefined if the signal aborts first. */
function unlessAborted<Result>(work: Promise<Result>, signal?: AbortSignal): Promise<Result | undefined> {
  if (!signal) return work
  return new Promise((resolve, reject) => {
    const aborted = () => resolve(undefined)
    signal.addEventListener('abort', aborted)
    if (signal.aborted) aborted()
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', aborted))
  })
}

/** Resolves when `work` is done or the time is over. */
async function within(ms: number, work: Promise<unknown>, clock: Clock): Promise<void> {
  let timer: Timer | undefined
  const late = new Promise<void>(resolve => {
    timer = clock.after(ms, resolve)
  })
  await Promise.race([work, late])
  timer?.cancel()
}

/**
 * Computed here, with the limits and health of the gateway; resources are looked up in the thread. Loaded on first
 * use.
 */
async function explainHere(
  question: ExplainQuery,
  { view, clock }: Pick<RemoteControlPorts, 'view' | 'clock'>,
  store: Pick<Store, 'find'>,
): Promise<Explanation | undefined> {
  const now = view()
  if (!now) return undefined
  const [{ explain }, { contextOfGateway }] = await Promise.all([
    import('../../services/why/explain.ts'),
    import('../../services/why/from-store.ts'),
  ])
  return explain(question, await contextOfGateway(now, store), clock)
}
