import { inProtocol, type Vendor, type VendorService, vendor } from '../../config/vendors/table.ts'
import type { Protocol } from '../../schema/protocol.ts'

/** The gw counterpart of a LiteLLM provider. */
export interface Provider {
  readonly protocol: Protocol
  /** Its address without `api_base`; absent: `api_base` is required. */
  readonly baseUrl?: string
  /** The path that gw needs at the end of an `api_base`. */
  readonly suffix?: string
  /** The variable that LiteLLM reads without an `api_key`. */
  readonly keyVariable?: string
  /** Its row in the vendor table; absent for servers that the table lacks. */
  readonly vendor?: Vendor
}

/** Differences between LiteLLM and the vendor table. */
interface Spelling {
  /** LiteLLM's variable, if it differs from the vendor's. */
  readonly keyVariable?: string
  readonly suffix?: string
  /** A self-hosted server: LiteLLM has no address for it. */
  readonly addressGiven?: true
}

function known(id: string, spelling: Spelling = {}): Provider {
  const row = vendor(id)
  const { addressGiven = false, keyVariable = addressGiven ? undefined : row.keyVariable, suffix } = spelling
  return {
    vendor: row,
    protocol: row.protocol,
    ...(!addressGiven && { baseUrl: row.baseUrl }),
    ...(suffix !== undefined && { suffix }),
    ...(keyVariable !== undefined && { keyVariable }),
  }
}

const ANY_OPENAI: Provider = { protocol: 'openai' }

/** LiteLLM's names of providers with the OpenAI or the Anthropic protocol. */
const PROVIDERS: Readonly<Record<string, Provider>> = {
  openai: known('openai'),
  anthropic: known('anthropic', { suffix: '/v1' }),
  // Azure's v1 API accepts deployment names as models, and its keys as bearer tokens.
  azure: known('azure', { suffix: '/openai/v1', keyVariable: 'AZURE_API_KEY', addressGiven: true }),
  groq: known('groq'),
  mistral: known('mistral'),
  deepseek: known('deepseek'),
  together_ai: known('together', { keyVariable: 'TOGETHERAI_API_KEY' }),
  openrouter: known('openrouter'),
  fireworks_ai: known('fireworks', { keyVariable: 'FIREWORKS_AI_API_KEY' }),
  perplexity: known('perplexity', { keyVariable: 'PERPLEXITYAI_API_KEY' }),
  xai: known('xai'),
  gemini: known('gemini'),
  cerebras: known('cerebras'),
  nvidia_nim: known('nvidia', { keyVariable: 'NVIDIA_NIM_API_KEY' }),
  deepinfra: known('deepinfra'),
  sambanova: known('sambanova'),
  jina_ai: known('jina', { keyVariable: 'JINA_AI_API_KEY' }),
  voyage: known('voyage'),
  ollama: known('ollama', { suffix: '/v1' }),
  ollama_chat: known('ollama', { suffix: '/v1' }),
  hosted_vllm: known('vllm', { addressGiven: true }),
  lm_studio: known('lm-studio', { addressGiven: true }),
  litellm_proxy: known('litellm-proxy', { addressGiven: true }),
  openai_like: ANY_OPENAI,
  custom_openai: ANY_OPENAI,
  llamafile: ANY_OPENAI,
  xinference: ANY_OPENAI,
  infinity: ANY_OPENAI,
}

/** Cohere has one address for OpenAI-compatible chats and embeddings, and another for reranking. */
const COHERE_RERANK = known('cohere-rerank')
const COHERE_COMPATIBLE = known('cohere')

/** Providers with their own protocol, which LiteLLM translates and gw does not support. */
const TRANSLATED =
  /^(?:bedrock|vertex_ai|sagemaker|watsonx|replicate|palm|azure_text|text-completion|aleph_alpha|nlp_cloud|petals|predibase|snowflake|databricks|triton|oci|huggingface|cloudflare|github_copilot|clarifai|baseten|maritalk|topaz|recraft|elevenlabs|deepgram|assemblyai)/

/** Models that LiteLLM knows without a provider prefix. */
const ANTHROPIC_MODEL = /^claude/
const OPENAI_MODEL =
  /^(?:ft:)?(?:gpt-|chatgpt-|o\d|text-embedding-|text-moderation|omni-moderation|dall-e|whisper|tts-|codex|computer-use|davinci|babbage)/
/** Parts of LiteLLM's model names that choose how it calls the model. */
const ROUTING_HINT = /^(?:o_series|gpt5_series|responses)\//

export interface NamedModel {
  readonly providerName: string
  /** The upstream's model name. */
  readonly model: string
  /** Neither the entry nor the name says which provider it is. */
  readonly isGuess?: true
}

/** Parses `openai/gpt-4o`; the provider may also be a separate field. */
export function namedModel(model: string, custom: string | undefined): NamedModel {
  if (custom !== undefined) {
    return {
      providerName: custom,
      model: bareName(custom, model.startsWith(`${custom}/`) ? model.slice(custom.length + 1) : model),
    }
  }
  const slash = model.indexOf('/')
  const first = model.slice(0, Math.max(0, slash))
  if (slash > 0) return { providerName: first, model: bareName(first, model.slice(slash + 1)) }
  if (ANTHROPIC_MODEL.test(model)) return { providerName: 'anthropic', model }
  return { providerName: 'openai', model, ...(!OPENAI_MODEL.test(model) && { isGuess: true as const }) }
}

function bareName(providerName: string, model: string): string {
  return providerName === 'openai' || providerName === 'azure' ? model.replace(ROUTING_HINT, '') : model
}

/** The variables that LiteLLM reads by itself, one of each provider. */
export function vendorVariables(): readonly string[] {
  return [...Object.values(PROVIDERS), COHERE_RERANK, COHERE_COMPATIBLE].flatMap(
    ({ keyVariable }) => keyVariable ?? [],
  )
}

export function isTranslated(providerName: string): boolean {
  return TRANSLATED.test(providerName)
}

/** Undefined if the provider is unknown. */
export function providerFor(name: string, mode: string | undefined): Provider | undefined {
  if (name === 'cohere' || name === 'cohere_chat')
    return mode === 'rerank' ? COHERE_RERANK : COHERE_COMPATIBLE
  return isProvider(name) ? PROVIDERS[name] : undefined
}

function isProvider(name: string): boolean {
  return Object.hasOwn(PROVIDERS, name)
}

/** Another address of the same account, for requests of `protocol`. */
export function sameAccountIn({ vendor: row }: Provider, protocol: Protocol): Vendor | undefined {
  const service: VendorService = protocol === 'openai' ? 'chat' : 'messages'
  return row && inProtocol(row, protocol, service)
}
