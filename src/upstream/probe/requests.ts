import { headerValue } from '../headers.ts'
import type { ProbedService, ProbeTarget } from '../probe.ts'
import type { ProbeRequest } from './ask.ts'

/** The version that Anthropic's API requires (docs.anthropic.com, "Versions"). */
const ANTHROPIC_VERSION = '2023-06-01'
const WORD = 'ping'
/** Minimum output limit that reasoning models accept. */
const REASONING_TOKENS = 16

/** The field of the output limit: newer models of OpenAI reject the older name. */
export type Bound = 'max_tokens' | 'max_completion_tokens'

const PATHS = {
  openai: '/chat/completions',
  anthropic: '/messages',
} as const

/** A minimal chat: one word, with the smallest output limit. */
export function chatRequest(target: ProbeTarget, bound: Bound = 'max_tokens'): ProbeRequest {
  return post(target, PATHS[target.protocol], {
    model: target.servedModel,
    messages: [{ role: 'user', content: WORD }],
    [bound]: bound === 'max_tokens' ? 1 : REASONING_TOKENS,
  })
}

/** A minimal request to another OpenAI-style service. */
export function otherRequest(target: ProbeTarget, service: Exclude<ProbedService, 'chat'>): ProbeRequest {
  const { servedModel: model } = target
  if (service === 'embeddings') return post(target, '/embeddings', { model, input: WORD })
  return post(target, '/rerank', { model, query: WORD, documents: [WORD] })
}

/** Requests the list of models, at the endpoint's base path or another one of the same origin. */
export function modelsRequest(target: ProbeTarget, basePath: string = target.basePath): ProbeRequest {
  return { method: 'GET', path: `${basePath}/models`, headers: headersFor(target) }
}

export function chatPath({ basePath, protocol }: ProbeTarget): string {
  return basePath + PATHS[protocol]
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
