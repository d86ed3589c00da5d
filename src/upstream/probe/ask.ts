import { asError } from '../../base/as-error.ts'
import type { Clock } from '../../base/clock.ts'
import { type CallPath, INFERENCE_PATHS } from '../../schema/paths.ts'
import type { Protocol } from '../../schema/protocol.ts'
import { headerValue, requestHeaders } from '../headers.ts'
import type { Lookup } from '../lookup.ts'
import type { ProbedService, ProbeTarget } from '../probe.ts'
import type { Upstream } from '../types.ts'
import { Connection, type Phase } from './connection.ts'

/** Limit of an answer to a probe. */
const LIMIT_BYTES = 1_048_576

export interface ProbeRequest {
  readonly method: 'GET' | 'POST'
  /** Includes the base path. */
  readonly path: string
  /** Header names and values alternate; the endpoint's own take precedence. */
  readonly headers: readonly string[]
  readonly json?: object
}

export interface Answer {
  readonly status: number
  readonly contentType: string
  readonly location: string | undefined
  /** It has `retry-after` or OpenAI's `retry-after-ms`. */
  readonly asksToWait: boolean
  /** At most 1 MiB of it. */
  readonly body: Buffer
  readonly latencyMs: number
}

/** The end of a request without an answer. */
export interface Failure {
  /** The phase in which it failed. */
  readonly phase: Phase
  /** The error of undici or the system; absent after a timeout. */
  readonly error: Error | undefined
  readonly latencyMs: number
  /** The timeout that ended it. */
  readonly timeoutMs: number
}

export interface AskPorts {
  readonly clock: Clock
  /** Replaces the system's resolver. */
  readonly lookup?: Lookup
}

class ProbeTimeout extends Error {
  override readonly name = 'ProbeTimeout'
  readonly timeoutMs: number
  constructor(timeoutMs: number) {
    super(`took longer than ${timeoutMs} ms`)
    this.timeoutMs = timeoutMs
  }
}

/** Sends one request on a new connection, which is closed when this resolves. Never rejects. */
export async function ask(
  upstream: Upstream,
  request: ProbeRequest,
  timeoutMs: number,
  signal: AbortSignal | undefined,
  { clock, lookup }: AskPorts,
): Promise<Answer | Failure> {
  const startMs = clock.monotonicMs()
  const connection = new Connection(upstream, lookup)
  const end = (ms: number) => () => connection.destroy(new ProbeTimeout(ms))
  const connectMs = Math.min(upstream.connectMs, timeoutMs)
  const firstByteMs = Math.min(upstream.firstByteMs, timeoutMs)
  const connecting = clock.after(connectMs, () => {
    if (connection.phase !== 'waiting') end(connectMs)()
  })
  const waiting = clock.after(firstByteMs, () => {
    if (connection.phase !== 'reading') end(firstByteMs)()
  })
  const whole = clock.after(timeoutMs, end(timeoutMs))
  const leave = () => connection.destroy(new Error('interrupted'))
  signal?.addEventListener('abort', leave)
  if (signal?.aborted) leave()
  const body = request.json && Buffer.from(JSON.stringify(request.json))
  try {
    const answer = await connection.request({
      method: request.method,
      path: request.path,
      headers: requestHeaders(request.headers, upstream.headers, body?.length ?? 0),
      body: body ?? null,
      limitBytes: LIMIT_BYTES,
    })
    return { ...answer, latencyMs: clock.monotonicMs() - startMs }
  } catch (error) {
    const isTimeout = error instanceof ProbeTimeout
    return {
      phase: connection.phase,
      error: isTimeout ? undefined : asError(error),
      latencyMs: clock.monotonicMs() - startMs,
      timeoutMs: isTimeout ? error.timeoutMs : timeoutMs,
    }
  } finally {
    signal?.removeEventListener('abort', leave)
    for (const timer of [connecting, waiting, whole]) timer.cancel()
    await connection.close()
  }
}

export function isFailure(result: Answer | Failure): result is Failure {
  return 'phase' in result
}

/** The version that Anthropic's API requires (docs.anthropic.com, "Versions"). */
const ANTHROPIC_VERSION = '2023-06-01'
const WORD = 'ping'
/** Minimum output limit that reasoning models accept. */
const REASONING_TOKENS = 16

/** The field of the output limit: newer models of OpenAI reject the older name. */
export type Bound = 'max_tokens' | 'max_completion_tokens'

const CHAT = { openai: '/chat/completions', anthropic: '/messages' } as const
const OTHER = {
  embeddings: '/embeddings',
  rerank: '/rerank',
  completions: '/completions',
  responses: '/responses',
} as const

/** A minimal chat: one word, with the smallest output limit. */
export function chatRequest(target: ProbeTarget, bound: Bound = 'max_tokens'): ProbeRequest {
  return post(target, CHAT[target.protocol], {
    model: target.servedModel,
    messages: [{ role: 'user', content: WORD }],
    [bound]: bound === 'max_tokens' ? 1 : REASONING_TOKENS,
  })
}

/** A minimal request to another OpenAI-style service. */
export function otherRequest(target: ProbeTarget, service: Exclude<ProbedService, 'chat'>): ProbeRequest {
  const { servedModel: model } = target
  const fields = {
    embeddings: { input: WORD },
    rerank: { query: WORD, documents: [WORD] },
    completions: { prompt: WORD, max_tokens: 1 },
    responses: { input: WORD, max_output_tokens: REASONING_TOKENS, store: false },
  }
  return post(target, OTHER[service], { model, ...fields[service] })
}

/** A request without a model or a content, which a server that knows the path rejects, and any other answers by 404. */
export function emptyRequest(target: ProbeTarget, path: CallPath | undefined): ProbeRequest {
  const row = INFERENCE_PATHS.find(each => each.path === path)
  return post(target, row?.suffix ?? CHAT[target.protocol], {})
}

/** The path of a service in the table of paths. */
export function pathOf(service: ProbedService, protocol: Protocol): CallPath | undefined {
  const suffix = service === 'chat' ? CHAT[protocol] : OTHER[service]
  return INFERENCE_PATHS.find(row => row.protocol === protocol && row.suffix === suffix)?.path
}

/** Requests the list of models, at the endpoint's base path or another one of the same origin. */
export function modelsRequest(target: ProbeTarget, basePath: string = target.basePath): ProbeRequest {
  return { method: 'GET', path: `${basePath}/models`, headers: headersFor(target) }
}

export function chatPath({ basePath, protocol }: ProbeTarget): string {
  return basePath + CHAT[protocol]
}

function post(target: ProbeTarget, path: string, json: object): ProbeRequest {
  const headers = ['content-type', 'application/json', ...headersFor(target)]
  return { method: 'POST', path: target.basePath + path, headers, json }
}

function headersFor({ protocol, headers }: ProbeTarget): string[] {
  const version =
    protocol === 'anthropic' && headerValue(headers, 'anthropic-version') === undefined
      ? ['anthropic-version', ANTHROPIC_VERSION]
      : []
  return ['accept', 'application/json', 'user-agent', 'gw-probe', ...version]
}
