import type { Protocol } from './protocol.ts'

/** Kinds of answers by the format of their usage. */
export type UsageDialect =
  | 'openai_chat'
  | 'completions'
  | 'responses'
  | 'anthropic_messages'
  | 'embeddings'
  | 'rerank'
  | 'images'
  | 'speech'
  | 'moderations'
  | 'transcription'

/**
 * Formats of answers, whole and streamed, by where they have the model name, the usage and their end; `media` are images,
 * speech and transcriptions.
 */
export type AnswerFormat = 'chat' | 'messages' | 'responses' | 'media'

/** What a model reads: chat messages, prompts or token ids, the input items of a response, or a text by its characters. */
export type ContentForm = 'messages' | 'prompts' | 'items' | 'characters'

/** The fields of a request that the gateway reads, besides `model` and `stream`. */
export interface BodyFields {
  /** The member that the model reads, where its tokens are not simply the bytes of the body. */
  readonly content?: { readonly name: string; readonly form: ContentForm }
  /** Limits of the output tokens; the largest counts. */
  readonly outputLimits?: readonly string[]
  /** The output limit that `output_cap` adds; absent: the one that it names. */
  readonly cap?: string
  /** Numbers of answers; their product counts. */
  readonly answers?: readonly string[]
  /** It may refer to stored responses, which belong to a tenant and an endpoint. */
  readonly refersToStored?: boolean
}

/** An inference path: its path at the gateway, its suffix at an endpoint's base URL, and the format of its bodies. */
export interface InferencePath {
  readonly path: string
  readonly suffix: string
  /** Absent: POST. */
  readonly method?: 'GET' | 'DELETE'
  readonly protocol: Protocol
  /** Absent if calls are free of charge. */
  readonly dialect?: UsageDialect
  readonly format: AnswerFormat
  readonly fields: BodyFields
  /** The body is multipart/form-data, with files of this medium. */
  readonly upload?: 'audio' | 'images'
  /** Its answer may be neither JSON nor an event stream, such as audio. */
  readonly mayBeOpaque?: boolean
  /** A stream has its usage only if `stream_options.include_usage` asks for it. */
  readonly usageOnRequest?: boolean
}

/** Also the path whose endpoints serve operations on stored responses. */
export const RESPONSES_PATH = {
  path: '/v1/responses',
  suffix: '/responses',
  protocol: 'openai',
  dialect: 'responses',
  format: 'responses',
  fields: {
    content: { name: 'input', form: 'items' },
    outputLimits: ['max_output_tokens'],
    cap: 'max_output_tokens',
    // OpenAI has no `n` here, but llama.cpp reads it.
    answers: ['n'],
    refersToStored: true,
  },
} as const satisfies InferencePath

const PATHS = [
  {
    path: '/v1/chat/completions',
    suffix: '/chat/completions',
    protocol: 'openai',
    dialect: 'openai_chat',
    format: 'chat',
    fields: {
      content: { name: 'messages', form: 'messages' },
      outputLimits: ['max_tokens', 'max_completion_tokens'],
      answers: ['n'],
    },
    usageOnRequest: true,
  },
  {
    path: '/v1/completions',
    suffix: '/completions',
    protocol: 'openai',
    dialect: 'completions',
    format: 'chat',
    fields: {
      content: { name: 'prompt', form: 'prompts' },
      // OpenAI has no `max_completion_tokens` here, but llama.cpp reads it before `max_tokens`.
      outputLimits: ['max_tokens', 'max_completion_tokens'],
      cap: 'max_tokens',
      answers: ['n', 'best_of'],
    },
    usageOnRequest: true,
  },
  RESPONSES_PATH,
  {
    path: '/v1/responses/compact',
    suffix: '/responses/compact',
    protocol: 'openai',
    dialect: 'responses',
    format: 'responses',
    fields: { content: { name: 'input', form: 'items' }, refersToStored: true },
  },
  {
    path: '/v1/responses/input_tokens',
    suffix: '/responses/input_tokens',
    protocol: 'openai',
    format: 'responses',
    fields: { content: { name: 'input', form: 'items' }, refersToStored: true },
  },
  {
    path: '/v1/embeddings',
    suffix: '/embeddings',
    protocol: 'openai',
    dialect: 'embeddings',
    format: 'chat',
    fields: { content: { name: 'input', form: 'prompts' } },
  },
  {
    path: '/v1/rerank',
    suffix: '/rerank',
    protocol: 'openai',
    dialect: 'rerank',
    format: 'chat',
    fields: {},
  },
  {
    path: '/v1/images/generations',
    suffix: '/images/generations',
    protocol: 'openai',
    dialect: 'images',
    format: 'media',
    fields: { answers: ['n'] },
  },
  {
    path: '/v1/audio/speech',
    suffix: '/audio/speech',
    protocol: 'openai',
    dialect: 'speech',
    format: 'media',
    fields: { content: { name: 'input', form: 'characters' } },
    mayBeOpaque: true,
  },
  {
    path: '/v1/images/edits',
    suffix: '/images/edits',
    protocol: 'openai',
    dialect: 'images',
    format: 'media',
    fields: { answers: ['n'] },
    upload: 'images',
  },
  {
    path: '/v1/audio/transcriptions',
    suffix: '/audio/transcriptions',
    protocol: 'openai',
    dialect: 'transcription',
    format: 'media',
    fields: {},
    upload: 'audio',
    mayBeOpaque: true,
  },
  {
    path: '/v1/audio/translations',
    suffix: '/audio/translations',
    protocol: 'openai',
    dialect: 'transcription',
    format: 'media',
    fields: {},
    upload: 'audio',
    mayBeOpaque: true,
  },
  {
    path: '/v1/moderations',
    suffix: '/moderations',
    protocol: 'openai',
    dialect: 'moderations',
    format: 'chat',
    fields: {},
  },
  {
    path: '/v1/messages',
    suffix: '/messages',
    protocol: 'anthropic',
    dialect: 'anthropic_messages',
    format: 'messages',
    // Anthropic has neither `max_completion_tokens` nor `n`, but similar servers may read them.
    fields: {
      content: { name: 'messages', form: 'messages' },
      outputLimits: ['max_tokens', 'max_completion_tokens'],
      cap: 'max_tokens',
      answers: ['n'],
    },
  },
  {
    path: '/v1/messages/count_tokens',
    suffix: '/messages/count_tokens',
    protocol: 'anthropic',
    format: 'messages',
    fields: {},
  },
] as const satisfies readonly InferencePath[]

/** Every path of inference. No other module names one. */
export const INFERENCE_PATHS: readonly (InferencePath & { readonly path: CallPath })[] = PATHS

const stored = { protocol: 'openai', format: 'responses', fields: {} } as const

/**
 * The operations on a stored response: free of charge, and served only by the endpoint that keeps it. Their suffixes follow
 * `/responses/{id}`.
 */
export const STORED_OPERATIONS: readonly InferencePath[] = [
  { ...stored, path: '/v1/responses/{id}', suffix: '', method: 'GET' },
  { ...stored, path: '/v1/responses/{id}', suffix: '', method: 'DELETE' },
  { ...stored, path: '/v1/responses/{id}/cancel', suffix: '/cancel' },
  { ...stored, path: '/v1/responses/{id}/input_items', suffix: '/input_items', method: 'GET' },
]

/** The prefix of every path of a stored response, at the gateway and at an endpoint. */
export const STORED_PREFIX = { path: '/v1/responses/', suffix: '/responses/' } as const

export type CallPath = (typeof PATHS)[number]['path']

/** For enumerations in schemas. */
export const CALL_PATHS: readonly CallPath[] = PATHS.map(({ path }) => path)

/** Paths of the vendors that are not served, with all below them. */
export const UNSERVED_PATHS = ['/v1/realtime', '/v1/files', '/v1/batches', '/v1/messages/batches'] as const

/** The protocol whose error format a path uses (spec/wire.md §1); also for unknown paths. */
export function protocolOfPath(path: string): Protocol {
  return path.startsWith('/v1/messages') ? 'anthropic' : 'openai'
}
