import type { Protocol } from '../../schema/endpoint.ts'

/** How gw reaches what LiteLLM calls a provider. */
export interface Provider {
  readonly protocol: Protocol
  /** Where it stands unless `api_base` says otherwise; absent: `api_base` must be given. */
  readonly baseUrl?: string
  /** What gw needs behind an `api_base`, where that does not end with it already. */
  readonly suffix?: string
  /** The variable that LiteLLM reads where no `api_key` is given. */
  readonly keyVariable?: string
}

const openai = (baseUrl: string, keyVariable: string): Provider => ({
  protocol: 'openai',
  baseUrl,
  keyVariable,
})

/**
 * Providers that speak the OpenAI or the Anthropic protocol, with the addresses that their own documentation gives
 * for it.
 */
const PROVIDERS: Readonly<Record<string, Provider>> = {
  openai: openai('https://api.openai.com/v1', 'OPENAI_API_KEY'),
  anthropic: {
    protocol: 'anthropic',
    baseUrl: 'https://api.anthropic.com/v1',
    suffix: '/v1',
    keyVariable: 'ANTHROPIC_API_KEY',
  },
  // Azure's v1 API takes the names of deployments as models, and its keys as bearers.
  azure: { protocol: 'openai', suffix: '/openai/v1', keyVariable: 'AZURE_API_KEY' },
  groq: openai('https://api.groq.com/openai/v1', 'GROQ_API_KEY'),
  mistral: openai('https://api.mistral.ai/v1', 'MISTRAL_API_KEY'),
  deepseek: openai('https://api.deepseek.com/v1', 'DEEPSEEK_API_KEY'),
  together_ai: openai('https://api.together.xyz/v1', 'TOGETHERAI_API_KEY'),
  openrouter: openai('https://openrouter.ai/api/v1', 'OPENROUTER_API_KEY'),
  fireworks_ai: openai('https://api.fireworks.ai/inference/v1', 'FIREWORKS_AI_API_KEY'),
  perplexity: openai('https://api.perplexity.ai', 'PERPLEXITYAI_API_KEY'),
  xai: openai('https://api.x.ai/v1', 'XAI_API_KEY'),
  gemini: openai('https://generativelanguage.googleapis.com/v1beta/openai', 'GEMINI_API_KEY'),
  cerebras: openai('https://api.cerebras.ai/v1', 'CEREBRAS_API_KEY'),
  nvidia_nim: openai('https://integrate.api.nvidia.com/v1', 'NVIDIA_NIM_API_KEY'),
  deepinfra: openai('https://api.deepinfra.com/v1/openai', 'DEEPINFRA_API_KEY'),
  sambanova: openai('https://api.sambanova.ai/v1', 'SAMBANOVA_API_KEY'),
  jina_ai: openai('https://api.jina.ai/v1', 'JINA_AI_API_KEY'),
  voyage: openai('https://api.voyageai.com/v1', 'VOYAGE_API_KEY'),
  ollama: { protocol: 'openai', baseUrl: 'http://localhost:11434/v1', suffix: '/v1' },
  ollama_chat: { protocol: 'openai', baseUrl: 'http://localhost:11434/v1', suffix: '/v1' },
  hosted_vllm: { protocol: 'openai' },
  openai_like: { protocol: 'openai' },
  custom_openai: { protocol: 'openai' },
  litellm_proxy: { protocol: 'openai' },
  lm_studio: { protocol: 'openai' },
  llamafile: { protocol: 'openai' },
  xinference: { protocol: 'openai' },
  infinity: { protocol: 'openai' },
}

/** Cohere has one address for chats and embeddings of OpenAI's shape, and another for reranking. */
const COHERE_RERANK = openai('https://api.cohere.com/v2', 'COHERE_API_KEY')
const COHERE_COMPATIBLE = openai('https://api.cohere.ai/compatibility/v1', 'COHERE_API_KEY')

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
