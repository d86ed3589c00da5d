import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Clock, Timer } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import {
  anthropicError,
  type DemoAnswer,
  DemoFault,
  type DemoRoute,
  type DemoScene,
  type Fields,
  isFields,
  openaiError,
  StoredResponses,
} from './answer.ts'
import { countTokens, messages } from './anthropic-messages.ts'
import { completions } from './completions.ts'
import { embeddings } from './embeddings.ts'
import { images, moderations, speech, transcription } from './media.ts'
import { findModel, listModels } from './models.ts'
import { chatCompletions } from './openai-chat.ts'
import { rerank } from './rerank.ts'
import { responses as createResponse, storedResponse } from './responses.ts'

export interface DemoUpstreamOptions {
  readonly host: string
  /** 0 selects a free port. */
  readonly port: number
  /** The pause between two events of a stream. Default 20 ms, about the pace of a mid-sized model. */
  readonly paceMs?: number
  readonly clock: Clock
  readonly random: Random
}

export interface DemoUpstream {
  /** Such as `http://127.0.0.1:9101`, without a path. */
  readonly url: string
  /** Stops listening and ends every connection, streams included. */
  close(): Promise<void>
}

const ROUTES: ReadonlyMap<string, DemoRoute> = new Map<string, DemoRoute>([
  ['/v1/chat/completions', chatCompletions],
  ['/v1/completions', completions],
  ['/v1/responses', createResponse],
  ['/v1/messages', messages],
  ['/v1/messages/count_tokens', countTokens],
  ['/v1/embeddings', embeddings],
  ['/v1/rerank', rerank],
  ['/v1/images/generations', images],
  ['/v1/audio/speech', speech],
  ['/v1/moderations', moderations],
])
/** Routes of multipart/form-data. */
const FORM_ROUTES: ReadonlyMap<string, DemoRoute> = new Map<string, DemoRoute>([
  ['/v1/images/edits', images],
  ['/v1/audio/transcriptions', transcription],
  ['/v1/audio/translations', transcription],
])
const MODELS_PATH = '/v1/models'
const LIMIT_BYTES = 33_554_432
const DEFAULT_PACE_MS = 20

/**
 * A small echo server with the APIs of OpenAI and Anthropic, so that a first run needs no account. It accepts any model
 * name and any credential, or none; it repeats the user's text, calls a tool when its name is mentioned, and counts four
 * characters as a token.
 *
 * @throws the system error of `listen(2)`, such as EADDRINUSE.
 */
export async function startDemoUpstream(options: DemoUpstreamOptions): Promise<DemoUpstream> {
  const responses = new StoredResponses()
  const server = createServer((req, res) => {
    void serve(req, res, responses, options)
  })
  server.listen(options.port, options.host)
  await once(server, 'listening')
  const { address, family, port } = server.address() as AddressInfo
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

async function serve(
  req: IncomingMessage,
  res: ServerResponse,
  responses: StoredResponses,
  options: DemoUpstreamOptions,
): Promise<void> {
  const scene: DemoScene = {
    id: prefix => prefix + Buffer.from(options.random.bytes(12)).toString('hex'),
    nowMs: options.clock.nowMs(),
    responses,
  }
  const path = req.url?.split('?', 1)[0] ?? ''
  const anthropic = path.startsWith('/v1/messages') || req.headers['anthropic-version'] !== undefined
  const requestId = scene.id('req_')
  res.setHeader(anthropic ? 'request-id' : 'x-request-id', requestId)
  try {
    const answer = await answerTo(req, res, path, scene)
    if (answer.kind === 'json') sendJson(res, 200, answer.body)
    else if (answer.kind === 'bytes')
      res.writeHead(200, { 'content-type': answer.contentType }).end(answer.body)
    else streamEvents(res, answer.events, options)
  } catch (error) {
    if (res.destroyed) return // the client left while its body was read
    const fault = error instanceof DemoFault ? error : new DemoFault(500, String(error))
    if (!req.complete) res.setHeader('connection', 'close')
    sendJson(res, fault.status, anthropic ? anthropicError(fault, requestId) : openaiError(fault))
  }
}

async function answerTo(
  req: IncomingMessage,
  res: ServerResponse,
  path: string,
  scene: DemoScene,
): Promise<DemoAnswer> {
  const route = ROUTES.get(path)
  if (route !== undefined) {
    expectMethod(req, res, 'POST')
    return route(await readFields(req), scene)
  }
  const formRoute = FORM_ROUTES.get(path)
  if (formRoute !== undefined) {
    expectMethod(req, res, 'POST')
    return formRoute(await readForm(req), scene)
  }
  const stored = storedResponse(req.method ?? '', path, scene.responses)
  if (stored) return stored
  const found = path === MODELS_PATH ? listModels() : modelAt(path)
  if (found === undefined) throw new DemoFault(404, `Unknown request URL: ${req.method} ${path}`)
  expectMethod(req, res, 'GET')
  return { kind: 'json', body: found }
}

function modelAt(path: string): Fields | undefined {
  if (!path.startsWith(`${MODELS_PATH}/`)) return undefined
  const id = path.slice(MODELS_PATH.length + 1)
  const found = findModel(id)
  if (found === undefined) throw new DemoFault(404, `The model '${id}' does not exist`, 'model')
  return found
}

function expectMethod(req: IncomingMessage, res: ServerResponse, method: 'GET' | 'POST'): void {
  if (req.method === method) return
  res.setHeader('allow', method)
  throw new DemoFault(405, `this path takes ${method} only`)
}

async function readForm(req: IncomingMessage): Promise<Fields> {
  const body = new Uint8Array(await readBytes(req))
  const headers = { 'content-type': req.headers['content-type'] ?? '' }
  try {
    return Object.fromEntries(await new Response(body, { headers }).formData())
  } catch {
    throw new DemoFault(400, 'We could not parse the form of your request.')
  }
}

async function readBytes(req: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let lengthBytes = 0
  // A rejection must not destroy the request: its socket carries the answer.
  for await (const chunk of req.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    lengthBytes += chunk.length
    if (lengthBytes > LIMIT_BYTES) throw new DemoFault(413, `the body is larger than ${LIMIT_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

async function readFields(req: IncomingMessage): Promise<Fields> {
  const bytes = await readBytes(req)
  let body: unknown
  try {
    body = JSON.parse(bytes.toString('utf8'))
  } catch {
    throw new DemoFault(400, 'We could not parse the JSON body of your request.')
  }
  if (!isFields(body)) throw new DemoFault(400, 'The body of your request is not a JSON object.')
  return body
}

function sendJson(res: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body)
  res.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
  res.end(text)
}

/** One event at a time, no faster than the client reads, and none after it has left. */
function streamEvents(res: ServerResponse, events: readonly string[], options: DemoUpstreamOptions): void {
  const paceMs = options.paceMs ?? DEFAULT_PACE_MS
  let timer: Timer | undefined
  let next = 0
  const pause = (): void => {
    timer = options.clock.after(paceMs, step)
  }
  const step = (): void => {
    const event = events[next++]
    if (event === undefined) res.end()
    else if (res.write(event)) pause()
    else res.once('drain', pause)
  }
  res.once('close', () => {
    next = events.length
    timer?.cancel()
  })
  res.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' })
  step()
}
