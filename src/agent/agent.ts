import { type Clock, pause, type Timer } from '../base/clock.ts'
import { isNodeCredential } from '../base/node-secrets.ts'
import type { Random } from '../base/random.ts'
import { type CloseReason, TunnelConnection } from '../tunnel/connection.ts'
import { type ControlMessage, type EngineLoad, engineList, type OfferedEngine } from '../tunnel/control.ts'
import { ProtocolFault } from '../tunnel/frames.ts'
import { join as joinSocket } from '../tunnel/join.ts'
import { StreamError } from '../tunnel/stream.ts'
import { type CarrierKind, dial, GatewayRejection, type Server } from './dial.ts'
import { connectTo, type EngineAddress, followEngine, type KnownEngine, loadOf } from './engine.ts'

const LEAST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 30_000
/** A connection that lasted this long resets the pause between attempts. */
const STABLE_MS = 60_000
const CHECK_ENGINES_MS = 5_000
const CHECK_LOAD_MS = 2_000
const INSTANCE_BYTES = 8

/** What happens to the connection, for the log of the node. */
export type AgentEvent =
  | { readonly type: 'connected'; readonly server: URL; readonly carrier: CarrierKind }
  | { readonly type: 'disconnected'; readonly server: URL; readonly reason: string }
  | {
      readonly type: 'unreachable'
      readonly server: URL
      readonly reason: string
      readonly retryMs: number
    }
  | { readonly type: 'engines'; readonly engines: readonly OfferedEngine[] }
  | { readonly type: 'notice'; readonly server: URL; readonly code: string }
  | { readonly type: 'rotated' }
  | { readonly type: 'not_rotated'; readonly reason: string }

export interface AgentOptions {
  /** Gateways over one store: the node is connected to each. */
  readonly servers: readonly Server[]
  readonly credential: string
  readonly engines: readonly EngineAddress[]
  readonly clock: Clock
  readonly random: Random
  /** The version of gw. */
  readonly version: string
  /** Aborts: drains, and ends. */
  readonly signal: AbortSignal
  /** Absent: the upgrade and, if something between does not pass it, a WebSocket. */
  readonly carrier?: CarrierKind | undefined
  /** How long streams in flight may go on after the abort. */
  readonly drainMs: number
  readonly onEvent: (event: AgentEvent) => void
  /** Stores a new credential, durably: the one before ends then. */
  readonly onCredential: (credential: string) => Promise<void>
}

/**
 * Keeps a connection to each gateway until the signal, or until all of them reject the node for good.
 *
 *     dial ──▶ connected ──▶ lost ──▶ pause with full jitter, of 0.5 to 1 s at first, to 30 s at last ──▶ dial
 *       ├─ 401: ends
 *       └─ 403, 426: ends, unless another gateway takes the node
 *
 * @throws {GatewayRejection} that no further attempt would change
 */
export async function runAgent(options: AgentOptions): Promise<void> {
  const { servers, clock, random, signal, onEvent } = options
  const instance = Buffer.from(random.bytes(INSTANCE_BYTES)).toString('hex')
  const credential = new HeldCredential(options)
  const engines = new Engines(options)
  const rejected = new Set<Server>()
  const stop = new AbortController()
  const ending = AbortSignal.any([signal, stop.signal])

  const keepConnected = async (server: Server): Promise<void> => {
    const carrier = new CarrierChoice(options.carrier)
    for (let failures = 0; !ending.aborted; ) {
      const startedAtMs = clock.monotonicMs()
      let reason: string
      try {
        const shared = { credential, engines, instance, carrier }
        reason = await connectOnce(server, { ...options, signal: ending }, shared)
        rejected.delete(server)
      } catch (error) {
        if (!(error instanceof GatewayRejection)) throw error
        rejected.add(server)
        // A credential that one of them does not know is known to none: they have one store.
        if (error.status === 401 || rejected.size === servers.length) throw error
        reason = error.message
      }
      if (ending.aborted) return
      failures = clock.monotonicMs() - startedAtMs > STABLE_MS ? 0 : failures + 1
      // All nodes of a gateway that restarts come back at once: each at a time of its own.
      const longestMs = Math.min(LONGEST_PAUSE_MS, LEAST_PAUSE_MS * 2 ** (Math.min(failures, 10) + 1))
      const retryMs = rejected.has(server)
        ? LONGEST_PAUSE_MS
        : LEAST_PAUSE_MS + random.fraction() * (longestMs - LEAST_PAUSE_MS)
      onEvent({ type: 'unreachable', server: server.url, reason, retryMs: Math.round(retryMs) })
      await pause(clock, retryMs, ending)
    }
  }

  engines.start()
  try {
    await Promise.all(servers.map(keepConnected))
  } finally {
    stop.abort()
    engines.stop()
  }
}

const FINAL = new Set([401, 403, 426])

/** Whether a further attempt cannot succeed. An answer that is not of a gateway may come from a proxy in between. */
function isFinal(error: unknown): boolean {
  return error instanceof GatewayRejection && error.isOfGateway && FINAL.has(error.status)
}

interface Shared {
  readonly credential: HeldCredential
  readonly engines: Engines
  readonly instance: string
  readonly carrier: CarrierChoice
}

/** Codes of a gateway that has not received the upgrade as it was sent. */
const CHANGED_ON_THE_WAY = new Set(['not_found', 'malformed'])

/** The carrier of the next attempt: after one that something on the way may have prevented, the other one. */
class CarrierChoice {
  readonly #isFixed: boolean
  #kind: CarrierKind

  constructor(fixed: CarrierKind | undefined) {
    this.#isFixed = fixed !== undefined
    this.#kind = fixed ?? 'upgrade'
  }

  get kind(): CarrierKind {
    return this.#kind
  }

  failed(error: unknown): void {
    const isOnTheWay =
      error instanceof GatewayRejection
        ? !error.isOfGateway || CHANGED_ON_THE_WAY.has(error.code)
        : error instanceof Error && 'code' in error && error.code === 'ECONNRESET'
    if (this.#isFixed || !isOnTheWay) return
    this.#kind = this.#kind === 'upgrade' ? 'websocket' : 'upgrade'
  }
}

/** One connection, to its end. @returns why it ended. @throws {GatewayRejection} a final one */
async function connectOnce(
  server: Server,
  options: AgentOptions,
  { credential, engines, instance, carrier }: Shared,
): Promise<string> {
  const { clock, random, version, signal, drainMs, onEvent } = options
  const { url } = server
  let dialled: Awaited<ReturnType<typeof dial>>
  try {
    dialled = await dial(server, carrier.kind, { credential: credential.text, instance, random }, signal)
  } catch (error) {
    if (isFinal(error)) throw error
    carrier.failed(error)
    return error instanceof Error ? error.message : String(error)
  }
  const { head } = dialled
  const { promise, resolve } = Promise.withResolvers<CloseReason>()
  let closing: string | undefined
  const connection = new TunnelConnection(
    dialled.carrier,
    {
      side: 'node',
      clock,
      version,
      handler: {
        onHello: () => {
          onEvent({ type: 'connected', server: url, carrier: carrier.kind })
          engines.attach(connection)
        },
        onControl: message => {
          const code = codeIn(message)
          if (message.type === 'closing') closing = code
          else if (message.type === 'notice') onEvent({ type: 'notice', server: url, code })
          else if (message.type === 'credential')
            credential.replace(message['credential'], () =>
              connection.sendControl({ type: 'credential_stored' }),
            )
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
  engines.detach(connection)
  const reason = closing ?? message
  onEvent({ type: 'disconnected', server: url, reason })
  if (closing === 'revoked')
    throw new GatewayRejection(401, closing, 'The credential of this node was revoked: join again.')
  if (closing === 'not_declared')
    throw new GatewayRejection(403, closing, 'No file declares a node of this name any more.')
  return reason
}

function codeIn({ code }: ControlMessage): string {
  return typeof code === 'string' ? code : 'unknown'
}

/** The credential of the node, which a gateway may replace. */
class HeldCredential {
  readonly #options: AgentOptions
  #text: string
  #storing: Promise<void> = Promise.resolve()

  constructor(options: AgentOptions) {
    this.#options = options
    this.#text = options.credential
  }

  get text(): string {
    return this.#text
  }

  /** One after the other, if several gateways send one. @throws {ProtocolFault} if it is no credential */
  replace(credential: unknown, onStored: () => void): void {
    if (typeof credential !== 'string' || !isNodeCredential(credential))
      throw new ProtocolFault('an invalid credential')
    const { onCredential, onEvent } = this.#options
    const stored = (): void => {
      this.#text = credential
      onStored()
      onEvent({ type: 'rotated' })
    }
    this.#storing = this.#storing
      .then(() => onCredential(credential))
      .then(stored, (error: unknown) => onEvent({ type: 'not_rotated', reason: String(error) }))
  }
}

/** What a gateway knows of a node that has reported nothing. */
const NO_LOAD = '{}'

/** Watches the engines, and reports them to the gateway when something has changed. */
class Engines {
  readonly #options: AgentOptions
  readonly #connections = new Set<TunnelConnection>()
  #offered = ''
  #load = NO_LOAD
  /** In the order of the options. */
  #known: readonly KnownEngine[] = []
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
    this.#connections.add(connection)
    // So that the next look reports the load to this one, too.
    this.#load = NO_LOAD
    if (this.#offered !== '') connection.sendControl(engineList(this.#known.map(({ offered }) => offered)))
  }

  detach(connection: TunnelConnection): void {
    this.#connections.delete(connection)
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
    this.#known = await Promise.all(
      this.#options.engines.map((address, index) => followEngine(address, this.#known[index])),
    )
    const engines = this.#known.map(known => known.offered)
    const offered = JSON.stringify(engines)
    if (offered === this.#offered || this.#isStopped) return
    this.#offered = offered
    this.#options.onEvent({ type: 'engines', engines })
    this.#send(engineList(engines))
  }

  async #checkLoad(): Promise<void> {
    if (this.#connections.size === 0) return
    const loads = await Promise.all(
      this.#options.engines.map(async engine => [engine.name, await loadOf(engine)] as const),
    )
    const load: Record<string, EngineLoad> = {}
    for (const [name, figures] of loads) if (figures) load[name] = figures
    const text = JSON.stringify(load)
    if (text === this.#load) return
    this.#load = text
    this.#send({ type: 'load', load })
  }

  #send(message: ControlMessage): void {
    for (const connection of this.#connections) connection.sendControl(message)
  }
}
