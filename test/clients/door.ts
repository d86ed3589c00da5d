import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'

/** A server that the SDKs are pointed at: the demo upstream itself, or a gateway in front of it. */
export interface Door {
  /** Without a path, such as `http://127.0.0.1:8090`. */
  readonly url: string
  readonly key: string
  /** The names under which it serves each kind of model. */
  readonly models: {
    readonly chat: string
    readonly messages: string
    readonly embedding: string
    readonly rerank: string
  }
}

/** One use of a real SDK, with what its user expects; the title is the promise. */
export interface Call {
  readonly title: string
  run(door: Door): Promise<void>
}

/** The SDKs of the two vendors as applications set them up; no retries, so that a fault shows at once. */
export function openai({ url, key }: Door): OpenAI {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 })
}

export function anthropic({ url, key }: Door): Anthropic {
  return new Anthropic({ baseURL: url, apiKey: key, maxRetries: 0 })
}
