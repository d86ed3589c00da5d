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
const MAX_ANSWER_BYTES = 4_194_304
const MAX_MODELS = 500
const MAX_MODEL_LENGTH = 256

/** Engines by the owner that their list of models names. */
const OWNERS: ReadonlyMap<string, string> = new Map([
  ['vllm', 'vllm'],
  ['sglang', 'sglang'],
  ['llamacpp', 'llama.cpp'],
  ['library', 'ollama'],
  ['organization_owner', 'lm-studio'],
])

/** The present state of an engine. Never rejects: an engine that does not answer is `down`. */
export async function checkEngine(address: EngineAddress): Promise<OfferedEngine> {
  const { name } = address
  const answer = await get(address, '/v1/models').catch(() => undefined)
  const models = answer && modelsIn(answer)
  if (!models) return { name, state: 'down', models: [] }
  const kind = models.map(({ owner }) => OWNERS.get(owner)).find(known => known !== undefined)
  return { name, state: 'up', ...(kind !== undefined && { kind }), models: models.map(({ id }) => id) }
}

/** The load of an engine by its own metrics; undefined if it has none. Never rejects. */
export async function loadOf(address: EngineAddress): Promise<EngineLoad | undefined> {
  const text = await get(address, '/metrics').catch(() => undefined)
  return text === undefined ? undefined : loadIn(text)
}

/** A connection to an engine for one stream. */
export function connectTo({ host, port }: EngineAddress): Socket {
  return connect({ host, port, allowHalfOpen: true })
}

function modelsIn(text: string): { readonly id: string; readonly owner: string }[] | undefined {
  try {
    const { data } = JSON.parse(text) as { readonly data?: unknown }
    if (!Array.isArray(data)) return undefined
    return data.slice(0, MAX_MODELS).flatMap((model: unknown) => {
      const { id, owned_by: owner } = (model ?? {}) as { readonly id?: unknown; readonly owned_by?: unknown }
      if (typeof id !== 'string' || id.length > MAX_MODEL_LENGTH) return []
      return [{ id, owner: typeof owner === 'string' ? owner : '' }]
    })
  } catch {
    return undefined
  }
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
    const timer = setTimeout(() => req.destroy(new Error('no answer in time')), CHECK_MS)
    req.on('close', () => clearTimeout(timer))
    req.on('error', reject)
    req.end()
  })
}
