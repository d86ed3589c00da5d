import { Worker } from 'node:worker_threads'
import type { Clock, Timer } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { Asked } from '../../control/ports.ts'
import type { View } from '../../gateway/why/decide.ts'
import type { Explanation } from '../../gateway/why/to-json.ts'
import type { ListenAddress, Listener } from '../../http/listen.ts'
import type { EndpointHealth } from '../../routing/endpoint-state.ts'
import type { Store } from '../../store/types.ts'
import type { HealthAnswer } from '../health.ts'
import { type Calls, callsOver, endCalls } from './worker-rpc.ts'

/** What the control plane is opened with: all of it crosses as data. */
export interface ControlOrder {
  readonly address: ListenAddress
  /** The store's URL. */
  readonly storeUrl: string
  /** Where browsers reach it, where a proxy in front does TLS. */
  readonly publicUrl: string | undefined
  /** Addresses and networks of proxies whose word about their clients counts. */
  readonly trustedProxies: readonly string[]
  /** Of gw, as the document of the control plane tells it. */
  readonly version: string
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly logLevel: Log['level']
}

/** What the thread of the control plane does for the main thread. */
export interface ControlThread {
  /** @returns the URL. @throws what `openControl` throws, and the system's error where the address cannot be had. */
  open(order: ControlOrder): Promise<string>
  /** As the store does it. */
  find(...query: Parameters<Store['find']>): ReturnType<Store['find']>
  /** See {@link Listener}. */
  close(...words: Parameters<Listener['close']>): Promise<void>
}

/** What the main thread answers to the control plane, and does for it. */
export interface MainThread {
  health(): HealthAnswer
  /** The label of amounts of money. */
  currency(): string
  /** How endpoints fare; empty where this process sends no traffic. */
  endpoints(): readonly EndpointHealth[]
  /**
   * By what the gateway of this process decides by; undefined where there is none.
   * @throws {CommandError} GW4005 where there is no key of that name.
   */
  explain(question: Asked): Promise<Explanation | undefined>
  /** Lines for the log, finished, as many as were gathered; flushing follows an error. */
  writeLines(lines: string): void
  flushLines(): void
}

/** What the process around it lends to the control plane. */
export interface RemoteControlPorts
  extends Omit<ControlOrder, 'address' | 'publicUrl' | 'logLevel'>,
    Pick<MainThread, 'health' | 'currency' | 'endpoints'> {
  readonly publicUrl: URL | undefined
  /** What the gateway of this process decides by; undefined where there is none. */
  readonly view: () => View | undefined
  /** The thread has ended by itself. */
  readonly onDeath: (error: Error) => void
  /** Once it is aborted nobody waits any more for a control plane that is coming up. */
  readonly signal?: AbortSignal
  /** Where compiled threads are, if not beside this module: tests run those of the build. */
  readonly threadsUrl?: URL
  readonly clock: Clock
  readonly log: Log
}

const MODULE = new URL('./control-thread.js', import.meta.url)
/** A thread within a query of SQLite hears nothing, and cannot be ended: no longer than this does anybody wait for it. */
const DEAF_MS = 1_000

/**
 * Starts the control plane in a thread: whatever people and their scripts ask of it, the gateway's event loop has no
 * part in it. What only the gateway knows the thread asks for, a message each.
 *
 * @returns undefined where the signal came first.
 * @throws {CommandError} GW2xxx; GW6001 where the first administrator cannot be made; the system's error where the
 * address cannot be had.
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
    environment,
    cwd,
    threadsUrl,
    onDeath,
  } = ports
  const worker = new Worker(threadsUrl ? new URL('control-thread.js', threadsUrl) : MODULE, {
    name: 'control',
    // What the process was started with is not meant for the thread: it has a module of its own to run.
    execArgv: [],
  })
  const control: Calls<ControlThread, MainThread> = callsOver(worker, {
    health: ports.health,
    currency: ports.currency,
    endpoints: ports.endpoints,
    explain: question => explainHere(question, ports, { find: query => control.find(query) }),
    writeLines: lines => {
      for (const line of lines.match(/[^\n]+\n/g) ?? []) log.lines.write(line)
    },
    flushLines: () => log.lines.flush?.(),
  })
  let isEnding = false
  let hasGone = false
  const gone = new Promise<void>(resolve => {
    let fault = new Error('the thread of the control plane has ended')
    worker.on('error', error => {
      fault = new Error('the thread of the control plane has failed', { cause: error })
    })
    worker.once('exit', () => {
      hasGone = true
      resolve()
      endCalls(control, fault)
      if (isEnding) return
      log.error({ err: fault }, 'the control plane has ended')
      onDeath(fault)
    })
  })
  const end = async (): Promise<void> => {
    isEnding = true
    await within(DEAF_MS, worker.terminate(), clock)
  }
  try {
    const opening = control.open({
      address,
      storeUrl,
      publicUrl: publicUrl?.href,
      trustedProxies,
      version,
      // Not as it is: that of a process does not cross.
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
          if (!hasGone) log.error({ err: error }, 'the control plane has not closed in order')
        })
        // Bills and the lease of the store do not wait for somebody's report.
        await within(graceMs + DEAF_MS, Promise.race([closing, gone]), clock)
        await end()
      },
    }
  } catch (error) {
    await end()
    throw error
  }
}

/** What `work` comes to, or undefined where the signal comes first. */
function unlessAborted<Result>(work: Promise<Result>, signal?: AbortSignal): Promise<Result | undefined> {
  if (!signal) return work
  return new Promise((resolve, reject) => {
    const aborted = () => resolve(undefined)
    signal.addEventListener('abort', aborted)
    if (signal.aborted) aborted()
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', aborted))
  })
}

/** Resolves when `work` is done, or so much later. */
async function within(ms: number, work: Promise<unknown>, clock: Clock): Promise<void> {
  let timer: Timer | undefined
  const late = new Promise<void>(resolve => {
    timer = clock.after(ms, resolve)
  })
  await Promise.race([work, late])
  timer?.cancel()
}

/** Decided here, where limits and health are; resources are looked up over there. Loaded when somebody asks. */
async function explainHere(
  question: Asked,
  { view, clock }: Pick<RemoteControlPorts, 'view' | 'clock'>,
  store: Pick<Store, 'find'>,
): Promise<Explanation | undefined> {
  const now = view()
  if (!now) return undefined
  const [{ explain }, { contextOfGateway }] = await Promise.all([
    import('../why/explain.ts'),
    import('../why/from-store.ts'),
  ])
  return explain(question, await contextOfGateway(now, store), clock)
}
