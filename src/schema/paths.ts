import type { Protocol } from './protocol.ts'

/** Kinds of answers by the format of their usage. */
export type UsageDialect = 'openai_chat' | 'completions' | 'anthropic_messages' | 'embeddings' | 'rerank'

/** The fields of a request that determine its hold. */
export interface BodyFields {
  /** What the model reads, where its tokens are not simply the bytes of the body. */
  readonly content?: 'messages' | 'prompt' | 'input'
  /** Limits of the output tokens; the largest counts. */
  readonly outputLimits?: readonly string[]
  /** The output limit that `output_cap` adds; absent: the one that it names. */
  readonly cap?: string
  /** Numbers of answers; their product counts. */
  readonly answers?: readonly string[]
}

/** An inference path: its path at the gateway, its suffix at an endpoint's base URL, and the format of its bodies. */
export interface InferencePath {
  readonly path: string
  readonly suffix: string
  readonly protocol: Protocol
  /** Absent if calls are free of charge. */
  readonly dialect?: UsageDialect
  readonly fields: BodyFields
  /** A stream has its usage only if `stream_options.include_usage` asks for it. */
  readonly usageOnRequest?: boolean
}

const PATHS = [
  {
    path: '/v1/chat/completions',
    suffix: '/chat/completions',
    protocol: 'openai',
    dialect: 'openai_chat',
    fields: { content: 'messages', outputLimits: ['max_tokens', 'max_completion_tokens'], answers: ['n'] },
    usageOnRequest: true,
  },
  {
    path: '/v1/completions',
    suffix: '/completions',
    protocol: 'openai',
    dialect: 'completions',
    fields: { content: 'prompt', outputLimits: ['max_tokens'], cap: 'max_tokens', answers: ['n', 'best_of'] },
    usageOnRequest: true,
  },
  {
    path: '/v1/embeddings',
    suffix: '/embeddings',
    protocol: 'openai',
    dialect: 'embeddings',
    fields: { content: 'input' },
  },
  { path: '/v1/rerank', suffix: '/rerank', protocol: 'openai', dialect: 'rerank', fields: {} },
  {
    path: '/v1/messages',
    suffix: '/messages',
    protocol: 'anthropic',
    dialect: 'anthropic_messages',
    // Anthropic has neither `max_completion_tokens` nor `n`, but similar servers may read them.
    fields: {
      content: 'messages',
      outputLimits: ['max_tokens', 'max_completion_tokens'],
      cap: 'max_tokens',
      answers: ['n'],
    },
  },
  {
    path: '/v1/messages/count_tokens',
    suffix: '/messages/count_tokens',
    protocol: 'anthropic',
    fields: {},
  },
] as const satisfies readonly InferencePath[]

/** Every path of inference. No other module names one. */
export const INFERENCE_PATHS: readonly (InferencePath & { readonly path: CallPath })[] = PATHS

export type CallPath = (typeof PATHS)[number]['path']

/** For enumerations in schemas. */
export const CALL_PATHS: readonly CallPath[] = PATHS.map(({ path }) => path)

/** The protocol whose error format a path uses (spec/wire.md §1); also for unknown paths. */
export function protocolOfPath(path: string): Protocol {
  return path.startsWith('/v1/messages') ? 'anthropic' : 'openai'
}
