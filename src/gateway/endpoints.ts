import type { UsageDialect } from '../metering/usage.ts'
import type { Protocol } from '../schema/endpoint.ts'

/** An inference path: what it is called here, what it is called behind an endpoint's base URL, and how it is metered. */
export interface InferencePath {
  readonly path: string
  readonly suffix: string
  readonly protocol: Protocol
  /** Absent where the answer costs nothing. */
  readonly dialect?: UsageDialect
}

export const INFERENCE_PATHS: readonly InferencePath[] = [
  { path: '/v1/chat/completions', suffix: '/chat/completions', protocol: 'openai', dialect: 'openai_chat' },
  { path: '/v1/embeddings', suffix: '/embeddings', protocol: 'openai', dialect: 'embeddings' },
  { path: '/v1/rerank', suffix: '/rerank', protocol: 'openai', dialect: 'rerank' },
  { path: '/v1/messages', suffix: '/messages', protocol: 'anthropic', dialect: 'anthropic_messages' },
  { path: '/v1/messages/count_tokens', suffix: '/messages/count_tokens', protocol: 'anthropic' },
]

/** Whose error shape a path answers in (spec/wire.md §1), known or not. */
export function protocolOfPath(path: string): Protocol {
  return path.startsWith('/v1/messages') ? 'anthropic' : 'openai'
}
