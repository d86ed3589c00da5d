import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { EngineLoad, OfferedEngine } from '../tunnel/control.ts'
import { loadIn } from './load.ts'

/** Where an engine listens. */
export interface EngineAddress {
  readonly name: string
  readonly host: string
  readonly port: number
}

const CHECK_MS = 3_000

class EngineLate extends Error {
  override readonly name = 'EngineLate'
}
const MAX_ANSWER_BYTES = 4_194_304
const MAX_MODELS = 500
const MAX_MODEL_LENGTH = 256

/** Engines by the owner that their list of models names. Ollama names the namespace of a model, TGI the model. */
const OWNERS: ReadonlyMap<string, string> = new Map([
  ['vllm', 'vllm'],
  ['sglang', 'sglang'],
  ['llamacpp', 'llama.cpp'],
  ['library', 'ollama'],
  ['organization_owner', 'lm-studio'],
])

/** Pages that only one kind of engine has, with a member of its JSON. */
const PAGES: readonly (readonly [kind: string, path: string, member: string])[] = [
  ['tgi', '/info', 'model_id'],
  ['lm-studio', '/api/v0/models', 'data'],
  ['ollama', '/api/version', 'version'],
]

/** An engine under much load answers calls, and other pages late. */
const PATIENCE = 3

/** What is known of an engine. */
export interface KnownEngine {
  readonly offered: OfferedEngine
  /** How many times in a row it has not answered in time. */
  readonly late: number
}

/**
 * The present state of an engine. Never rejects: one that accepts no connection is `down`, and so is one that was up and has not
 * answered in time three times in a row.
 *
 * @param before Of the last look: the kind of an engine that stays up does not change.
 */
export async function followEngine(address: EngineAddress, before?: KnownEngine): Promise<KnownEngine> {
  try {
    return { offered: await look(address, before?.offered), late: 0 }
  } catch (error) {
    const late = (before?.late ?? 0) + 1
    if (error instanceof EngineLate && before?.offered.state === 'up' && late < PATIENCE)
      return { offered: before.offered, late }
    return { offered: { name: address.name, state: 'down', models: [] }, late }
  }
}

/** As {@link followEngine}, without what was before. */
export async function checkEngine(address: EngineAddress): Promise<OfferedEngine> {
  return (await followEngine(address)).offered
}

/** @throws {EngineLate}, or the error of the connection */
async function look(address: EngineAddress, before: OfferedEngine | undefined): Promise<OfferedEngine> {
  const { name } = address
  const models = modelsIn(await get(address, '/v1/models'))
  if (!models) return { name, state: 'down', models: [] }
  const kind = before?.state === 'up' ? before.kind : await kindOf(address, models)
  return { name, state: 'up', ...(kind !== undefined && { kind }), models: models.map(({ id }) => id) }
}

async function kindOf(
  address: EngineAddress,
  models: readonly { readonly owner: string }[],
): Promise<string | undefined> {
  const owned = models.map(({ owner }) => OWNERS.get(owner)).find(known => known !== undefined)
  if (owned !== undefined) return owned
  for (const [kind, path, member] of PAGES) {
    const value = parsed(await page(address, path))
    if (typeof value === 'object' && value !== null && member in value) return kind
  }
  return undefined
}

/** The load of an engine by its own metrics; undefined if it has none. Never rejects. */
export async function loadOf(address: EngineAddress): Promise<EngineLoad | undefined> {
  const text = await page(address, '/metrics')
  return text === undefined ? undefined : loadIn(text)
}

/** A connection to an engine for one stream. */
export function connectTo({ host, port }: EngineAddress): Socket {
  return connect({ host, port, allowHalfOpen: true })
}

function modelsIn(text: string | undefined) {
  const { data } = (parsed(text) ?? {}) as { readonly data?: unknown }
  if (!Array.isArray(data)) return undefined
  return data.slice(0, MAX_MODELS).flatMap((model: unknown) => {
    const { id, owned_by: owner } = (model ?? {}) as { readonly id?: unknown; readonly owned_by?: unknown }
    if (typeof id !== 'string' || id.length > MAX_MODEL_LENGTH) return []
    return [{ id, owner: typeof owner === 'string' ? owner : '' }]
  })
}

/** Undefined if the text is no JSON. */
function parsed(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The body of a 200 answer; undefined for every other end. */
function page(address: EngineAddress, path: string): Promise<string | undefined> {
  return get(address, path).catch(() => undefined)
}

/** The body of a 200 answer. */
function get({ host, port }: EngineAddress, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const req = request({ host, port, path, agent: false, headers: { host: 'localhost' } }, res => {
      const pieces: Buffer[] = []
      let bytes = 0
      res.on('data', (piece: Buffer) => {
        bytes += piece.length
        if (bytes > MAX_ANSWER_BYTES) req.destroy(new Error('a long answer'))
        pieces.push(piece)
      })
      res.on('error', reject)
      res.on('end', () => {
        if (res.statusCode === 200) resolve(Buffer.concat(pieces).toString('utf8'))
        else reject(new Error(`status ${res.statusCode}`))
      })
    })
    // Of the whole exchange: an engine that drips is down too.
    const timer = setTimeout(() => req.destroy(new EngineLate('no answer in time')), CHECK_MS)
    req.on('close', () => clearTimeout(timer))
    req.on('error', reject)
    req.end()
  })
}
