import { headerValue } from '../headers.ts'
import type { ProbedService, ProbeTarget } from '../probe.ts'
import type { ProbeRequest } from './ask.ts'

/** The version that Anthropic's API wants named (docs.anthropic.com, "Versions"). */
const ANTHROPIC_VERSION = '2023-06-01'
const WORD = 'ping'
/** What models that think before they speak need at the least, so that they take the request at all. */
const THINKING_TOKENS = 16

/** The field that bounds the answer: newer models of OpenAI reject the older name. */
export type Bound = 'max_tokens' | 'max_completion_tokens'

const PATHS = {
  openai: '/chat/completions',
  anthropic: '/messages',
} as const

/** One chat of one word, answered by as little as can be. */
export function chatRequest(target: ProbeTarget, bound: Bound = 'max_tokens'): ProbeRequest {
  return post(target, PATHS[target.protocol], {
    model: target.servedModel,
    messages: [{ role: 'user', content: WORD }],
    [bound]: bound === 'max_tokens' ? 1 : THINKING_TOKENS,
  })
}

/** The smallest request to an OpenAI-style service that is no chat. */
export function otherRequest(target: ProbeTarget, service: Exclude<ProbedService, 'chat'>): ProbeRequest {
  const { servedModel: model } = target
  if (service === 'embeddings') return post(target, '/embeddings', { model, input: WORD })
  return post(target, '/rerank', { model, query: WORD, documents: [WORD] })
}

/** Asks for the list of models, of the endpoint or below another path of the same origin. */
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
