import { MAX_CONTROL_BYTES, ProtocolFault } from './frames.ts'

/** The version of the protocol. */
export const TUNNEL_VERSION = 1

/** A message on stream 0. Its other members depend on its type; readers ignore unknown types and members. */
export interface ControlMessage {
  readonly type: string
  readonly [member: string]: unknown
}

/** The first message of each side. */
export interface Hello {
  readonly type: 'hello'
  /** Version of the protocol. */
  readonly protocol: number
  /** Version of gw. */
  readonly version: string
  /** Optional parts of the protocol that the sender understands. */
  readonly features: readonly string[]
  /** Bytes that the other side may send on a new stream before the first CREDIT. */
  readonly window: number
}

const MIN_WINDOW = 16_384
const MAX_WINDOW = 16_777_216
const MAX_FEATURES = 32
const MAX_TEXT = 64

const text = new TextDecoder('utf-8', { fatal: true })

/** @throws {ProtocolFault} if the payload is no JSON object with a type */
export function readControl(payload: Buffer): ControlMessage {
  let value: unknown
  try {
    value = JSON.parse(text.decode(payload))
  } catch {
    throw new ProtocolFault('CONTROL is not JSON')
  }
  if (!isObject(value) || typeof value['type'] !== 'string')
    throw new ProtocolFault('CONTROL is no object with a type')
  return value as ControlMessage
}

/** @throws {RangeError} if the message is too long for a frame */
export function controlBytes(message: ControlMessage | Hello): Buffer {
  const bytes = Buffer.from(JSON.stringify(message))
  if (bytes.length > MAX_CONTROL_BYTES) throw new RangeError(`the message ${message.type} is too long`)
  return bytes
}

/** @throws {ProtocolFault} if the message is no `hello`, or an invalid one */
export function readHello(message: ControlMessage): Hello {
  const { type, protocol, version, features, window } = message
  if (type !== 'hello') throw new ProtocolFault('CONTROL before hello')
  if (protocol !== TUNNEL_VERSION) throw new ProtocolFault('an unknown version of the protocol')
  if (
    !isText(version) ||
    !Array.isArray(features) ||
    features.length > MAX_FEATURES ||
    !features.every(isText)
  )
    throw new ProtocolFault('an invalid hello')
  if (typeof window !== 'number' || !Number.isInteger(window) || window < MIN_WINDOW || window > MAX_WINDOW)
    throw new ProtocolFault('an invalid window')
  return { type, protocol, version, features, window }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_TEXT
}

/** Where a node opens its connection, with `upgrade: gw-tunnel`. */
export const TUNNEL_PATH = '/node/v1/tunnel'
export const TUNNEL_UPGRADE = 'gw-tunnel'
/** Where a node exchanges a join token for its credential. */
export const JOIN_PATH = '/node/v1/join'
/** Where a node ends its own credential. */
export const LEAVE_PATH = '/node/v1/leave'
/** Header of the upgrade: {@link TUNNEL_VERSION}. */
export const VERSION_HEADER = 'gw-tunnel-version'
/** Header of the upgrade: 64 random bits in hexadecimal digits, which identify the process of the node. */
export const INSTANCE_HEADER = 'gw-node-instance'

/** An engine as its node offers it. */
export interface OfferedEngine {
  readonly name: string
  readonly state: 'up' | 'down'
  /** Such as `vllm`; absent if unknown. */
  readonly kind?: string
  readonly models: readonly string[]
}

/** The load of an engine, by its own figures. */
export interface EngineLoad {
  readonly running: number
  readonly waiting: number
  /** Share of its cache in use, from 0 to 1; absent if it has none. */
  readonly cache?: number
}

const MAX_ENGINES = 32
const MAX_MODELS = 500
const MAX_MODEL_LENGTH = 256
const MAX_REQUESTS = 1_000_000
const ENGINE_NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/

export function isEngineName(text: unknown): text is string {
  return typeof text === 'string' && ENGINE_NAME.test(text)
}

/** Shortens the lists of models so that the message fits a frame, whatever an engine lists. */
export function engineList(engines: readonly OfferedEngine[]): ControlMessage {
  let left = MAX_CONTROL_BYTES / 2
  const shortened = engines.slice(0, MAX_ENGINES).map(({ models, ...engine }) => ({
    ...engine,
    models: models.slice(0, MAX_MODELS).filter(model => {
      left -= Buffer.byteLength(JSON.stringify(model)) + 1
      return left > 0 && model.length <= MAX_MODEL_LENGTH
    }),
  }))
  return { type: 'engines', engines: shortened }
}

/** @throws {ProtocolFault} if the message is no valid list of engines */
export function readEngines({ engines }: ControlMessage): readonly OfferedEngine[] {
  if (!Array.isArray(engines) || engines.length > MAX_ENGINES)
    throw new ProtocolFault('an invalid list of engines')
  return engines.map((engine: unknown) => {
    const { name, state, kind, models } = isObject(engine) ? engine : {}
    if (
      !isEngineName(name) ||
      (state !== 'up' && state !== 'down') ||
      !(kind === undefined || isText(kind)) ||
      !Array.isArray(models) ||
      models.length > MAX_MODELS ||
      !models.every(model => typeof model === 'string' && model.length <= MAX_MODEL_LENGTH)
    )
      throw new ProtocolFault('an invalid engine')
    return { name, state, ...(kind !== undefined && { kind }), models: models as string[] }
  })
}

/** @throws {ProtocolFault} if the message is no valid load */
export function readLoad({ load }: ControlMessage): ReadonlyMap<string, EngineLoad> {
  if (!isObject(load)) throw new ProtocolFault('an invalid load')
  const entries = Object.entries(load)
  if (entries.length > MAX_ENGINES) throw new ProtocolFault('an invalid load')
  return new Map(
    entries.map(([name, value]) => {
      const { running, waiting, cache } = isObject(value) ? value : {}
      if (!isCount(running) || !isCount(waiting) || !(cache === undefined || isShare(cache)))
        throw new ProtocolFault('an invalid load')
      return [name, { running, waiting, ...(cache !== undefined && { cache }) }]
    }),
  )
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= MAX_REQUESTS
}

function isShare(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= 1
}
