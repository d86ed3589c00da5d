import type { Protocol } from '../../schema/endpoint.ts'
import { inProtocol, type Vendor, type VendorService, vendor } from '../vendors/table.ts'

/** How gw reaches what LiteLLM calls a provider. */
export interface Provider {
  readonly protocol: Protocol
  /** Where it stands unless `api_base` says otherwise; absent: `api_base` must be given. */
  readonly baseUrl?: string
  /** What gw needs behind an `api_base`, where that does not end with it already. */
  readonly suffix?: string
  /** The variable that LiteLLM reads where no `api_key` is given. */
  readonly keyVariable?: string
  /** Its row in the table of vendors; absent for servers that the table does not know. */
  readonly vendor?: Vendor
}

/** What LiteLLM knows otherwise than the table of vendors. */
interface Spelling {
  /** The variable that LiteLLM reads, where it is not the vendor's. */
  readonly keyVariable?: string
  readonly suffix?: string
  /** A server of one's own: LiteLLM has no address for it. */
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

/** LiteLLM's names of what speaks the OpenAI or the Anthropic protocol. */
const PROVIDERS: Readonly<Record<string, Provider>> = {
  openai: known('openai'),
  anthropic: known('anthropic', { suffix: '/v1' }),
  // Azure's v1 API takes the names of deployments as models, and its keys as bearers.
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

/** Cohere has one address for chats and embeddings of OpenAI's shape, and another for reranking. */
const COHERE_RERANK = known('cohere-rerank')
const COHERE_COMPATIBLE = known('cohere')

/** Those that LiteLLM translates for: gw translates nothing. */
const TRANSLATED =
  /^(?:bedrock|vertex_ai|sagemaker|watsonx|replicate|palm|azure_text|text-completion|aleph_alpha|nlp_cloud|petals|predibase|snowflake|databricks|triton|oci|huggingface|cloudflare|github_copilot|clarifai|baseten|maritalk|topaz|recraft|elevenlabs|deepgram|assemblyai)/

/** Models that LiteLLM knows without a provider before them. */
const ANTHROPIC_MODEL = /^claude/

export interface NamedModel {
  readonly providerName: string
  /** The name that the upstream accepts. */
  readonly model: string
}

/** `openai/gpt-4o` and the like; the provider may also be named beside it. */
export function namedModel(model: string, custom: string | undefined): NamedModel {
  if (custom !== undefined) {
    return {
      providerName: custom,
      model: model.startsWith(`${custom}/`) ? model.slice(custom.length + 1) : model,
    }
  }
  const slash = model.indexOf('/')
  const first = model.slice(0, Math.max(0, slash))
  if (slash > 0) return { providerName: first, model: model.slice(slash + 1) }
  return { providerName: ANTHROPIC_MODEL.test(model) ? 'anthropic' : 'openai', model }
}

export function isTranslated(providerName: string): boolean {
  return TRANSLATED.test(providerName)
}

/** Undefined where nothing is known of it. */
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
