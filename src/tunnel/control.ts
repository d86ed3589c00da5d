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
