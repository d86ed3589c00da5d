import type { Protocol } from './endpoint.ts'

/** Kinds of answers by the format of their usage. */
export type UsageDialect = 'openai_chat' | 'anthropic_messages' | 'embeddings' | 'rerank'

/** An inference path: its path at the gateway, its suffix at an endpoint's base URL, and its usage dialect. */
export interface InferencePath {
  readonly path: string
  readonly suffix: string
  readonly protocol: Protocol
  /** Absent if calls are free of charge. */
  readonly dialect?: UsageDialect
}

export const INFERENCE_PATHS: readonly InferencePath[] = [
  { path: '/v1/chat/completions', suffix: '/chat/completions', protocol: 'openai', dialect: 'openai_chat' },
  { path: '/v1/embeddings', suffix: '/embeddings', protocol: 'openai', dialect: 'embeddings' },
  { path: '/v1/rerank', suffix: '/rerank', protocol: 'openai', dialect: 'rerank' },
  { path: '/v1/messages', suffix: '/messages', protocol: 'anthropic', dialect: 'anthropic_messages' },
  { path: '/v1/messages/count_tokens', suffix: '/messages/count_tokens', protocol: 'anthropic' },
]

/** The protocol whose error format a path uses (spec/wire.md §1); also for unknown paths. */
export function protocolOfPath(path: string): Protocol {
  return path.startsWith('/v1/messages') ? 'anthropic' : 'openai'
}
