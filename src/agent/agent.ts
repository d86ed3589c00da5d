import { type Clock, pause, type Timer } from '../base/clock.ts'
import { isNodeCredential } from '../base/node-secrets.ts'
import type { Random } from '../base/random.ts'
import { type CloseReason, TunnelConnection } from '../tunnel/connection.ts'
import { type ControlMessage, type EngineLoad, engineList, type OfferedEngine } from '../tunnel/control.ts'
import { ProtocolFault } from '../tunnel/frames.ts'
import { join as joinSocket } from '../tunnel/join.ts'
import { StreamError } from '../tunnel/stream.ts'
import { dial, GatewayRejection, type Server } from './dial.ts'
import { checkEngine, connectTo, type EngineAddress, loadOf } from './engine.ts'

const LEAST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 30_000
/** A connection that lasted so long was no failure. */
const STABLE_MS = 60_000
const CHECK_ENGINES_MS = 5_000
const CHECK_LOAD_MS = 2_000
const INSTANCE_BYTES = 8

/** What happens to the connection, for the log of the node. */
export type AgentEvent =
  | { readonly type: 'connected' }
  | { readonly type: 'disconnected'; readonly reason: string }
  | { readonly type: 'unreachable'; readonly reason: string; readonly retryMs: number }
  | { readonly type: 'engines'; readonly engines: readonly OfferedEngine[] }
  | { readonly type: 'notice'; readonly code: string }
  | { readonly type: 'rotated' }
  | { readonly type: 'not_rotated'; readonly reason: string }

export interface AgentOptions {
  readonly server: Server
  readonly credential: string
  readonly engines: readonly EngineAddress[]
  readonly clock: Clock
  readonly random: Random
  /** The version of gw. */
  readonly version: string
  /** Aborts: drains, and ends. */
  readonly signal: AbortSignal
  /** How long streams in flight may go on after the abort. */
  readonly drainMs: number
  readonly onEvent: (event: AgentEvent) => void
  /** Stores a new credential, durably: the one before ends then. */
  readonly onCredential: (credential: string) => Promise<void>
}

/**
 * Keeps a connection to the gateway until the signal, or until the gateway rejects the node for good.
 *
 *     dial ──▶ connected ──▶ lost ──▶ pause with full jitter, 0.5 to 30 s ──▶ dial
 *       └─ 401, 403, 426: ends
 *
 * @throws {GatewayRejection} that no further attempt would change
 */
export async function runAgent(options: AgentOptions): Promise<void> {
  const { server, clock, random, signal, onEvent } = options
  const held = { credential: options.credential }
  const instance = Buffer.from(random.bytes(INSTANCE_BYTES)).toString('hex')
  const engines = new Engines(options)
  engines.start()
  try {
    for (let failures = 0; !signal.aborted; ) {
      const startedAtMs = clock.monotonicMs()
      const reason = await attempt(options, held, engines, () =>
        dial(server, held.credential, instance, signal),
      )
      if (signal.aborted) return
      failures = clock.monotonicMs() - startedAtMs > STABLE_MS ? 0 : failures + 1
      // All nodes of a gateway that restarts come back at once: each at a time of its own.
      const longestMs = Math.min(LONGEST_PAUSE_MS, LEAST_PAUSE_MS * 2 ** Math.min(failures, 10))
      const retryMs = LEAST_PAUSE_MS + random.fraction() * (longestMs - LEAST_PAUSE_MS)
      onEvent({ type: 'unreachable', reason, retryMs: Math.round(retryMs) })
      await pause(clock, retryMs, signal)
    }
  } finally {
    engines.stop()
  }
}

const FINAL = new Set([401, 403, 426])

/** What no further attempt would change. An answer that is no gateway's may come from a proxy in between. */
function isFinal(error: unknown): boolean {
  return error instanceof GatewayRejection && error.isOfGateway && FINAL.has(error.status)
}

/** One connection, to its end. @returns why it ended. @throws {GatewayRejection} a final one */
async function attempt(
  options: AgentOptions,
  held: { credential: string },
  engines: Engines,
  connect: () => ReturnType<typeof dial>,
): Promise<string> {
  const { clock, version, signal, drainMs, onEvent } = options
  let dialled: Awaited<ReturnType<typeof dial>>
  try {
    dialled = await connect()
  } catch (error) {
    if (isFinal(error)) throw error
    return error instanceof Error ? error.message : String(error)
  }
  const { socket, head } = dialled
  const { promise, resolve } = Promise.withResolvers<CloseReason>()
  let closing: string | undefined
  const store = (credential: unknown): void => {
    if (typeof credential !== 'string' || !isNodeCredential(credential))
      throw new ProtocolFault('an invalid credential')
    const stored = (): void => {
      held.credential = credential
      connection.sendControl({ type: 'credential_stored' })
      onEvent({ type: 'rotated' })
    }
    options
      .onCredential(credential)
      .then(stored, (error: unknown) => onEvent({ type: 'not_rotated', reason: String(error) }))
  }
  const connection = new TunnelConnection(
    socket,
    {
      side: 'node',
      clock,
      version,
      handler: {
        onHello: () => {
          onEvent({ type: 'connected' })
          engines.attach(connection)
        },
        onControl: message => {
          const code = codeIn(message)
          if (message.type === 'closing') closing = code
          else if (message.type === 'notice') onEvent({ type: 'notice', code })
          else if (message.type === 'credential') store(message['credential'])
        },
        onOpen: (stream, name) => {
          const engine = options.engines.find(each => each.name === name)
          if (engine) joinSocket(stream, connectTo(engine))
          else stream.destroy(new StreamError('unknownEngine'))
        },
        onClose: resolve,
      },
    },
    head,
  )
  let deadline: Timer | undefined
  const drain = (): void => {
    connection.drain(drainMs)
    const end = (): void => {
      if (connection.streams > 0 && clock.monotonicMs() < endsAtMs) deadline = clock.after(50, end)
      else connection.close('the node stops')
    }
    const endsAtMs = clock.monotonicMs() + drainMs
    // The gateway has to hear of it first.
    deadline = clock.after(50, end)
  }
  signal.addEventListener('abort', drain, { once: true })
  if (signal.aborted) drain()
  const { message } = await promise
  signal.removeEventListener('abort', drain)
  deadline?.cancel()
  engines.detach()
  const reason = closing ?? message
  onEvent({ type: 'disconnected', reason })
  if (closing === 'revoked')
    throw new GatewayRejection(401, closing, 'The credential of this node was revoked: join again.')
  if (closing === 'not_declared')
    throw new GatewayRejection(403, closing, 'No file declares a node of this name any more.')
  return reason
}

function codeIn({ code }: ControlMessage): string {
  return typeof code === 'string' ? code : 'unknown'
}

/** Watches the engines, and reports them to the gateway when something has changed. */
class Engines {
  readonly #options: AgentOptions
  #connection: TunnelConnection | undefined
  #offered = ''
  #load = ''
  #engines: readonly OfferedEngine[] = []
  #timers: (Timer | undefined)[] = []
  #isStopped = false

  constructor(options: AgentOptions) {
    this.#options = options
  }

  start(): void {
    this.#repeat(0, CHECK_ENGINES_MS, () => this.#checkEngines())
    this.#repeat(1, CHECK_LOAD_MS, () => this.#checkLoad())
  }

  stop(): void {
    this.#isStopped = true
    for (const timer of this.#timers) timer?.cancel()
  }

  attach(connection: TunnelConnection): void {
    this.#connection = connection
    this.#load = ''
    if (this.#offered !== '') connection.sendControl(engineList(this.#engines))
  }

  detach(): void {
    this.#connection = undefined
  }

  #repeat(slot: number, everyMs: number, check: () => Promise<void>): void {
    const run = (): void => {
      void check().finally(() => {
        if (!this.#isStopped) this.#timers[slot] = this.#options.clock.after(everyMs, run)
      })
    }
    run()
  }

  async #checkEngines(): Promise<void> {
    const engines = await Promise.all(
      this.#options.engines.map(address =>
        checkEngine(
          address,
          this.#engines.find(({ name }) => name === address.name),
        ),
      ),
    )
    const offered = JSON.stringify(engines)
    if (offered === this.#offered || this.#isStopped) return
    this.#offered = offered
    this.#engines = engines
    this.#options.onEvent({ type: 'engines', engines })
    this.#connection?.sendControl(engineList(engines))
  }

  async #checkLoad(): Promise<void> {
    if (!this.#connection) return
    const loads = await Promise.all(
      this.#options.engines.map(async engine => [engine.name, await loadOf(engine)] as const),
    )
    const load: Record<string, EngineLoad> = {}
    for (const [name, figures] of loads) if (figures) load[name] = figures
    const text = JSON.stringify(load)
    if (text === this.#load || text === '{}') return
    this.#load = text
    this.#connection?.sendControl({ type: 'load', load })
  }
}
