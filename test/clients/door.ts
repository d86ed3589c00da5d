import Anthropic from '@anthropic-ai/sdk'
import PreviousAnthropic from 'anthropic-sdk-previous'
import OpenAI from 'openai'
import PreviousOpenAI from 'openai-previous'

/** The SDKs of the two vendors, of one generation. */
export interface Sdks {
  readonly generation: string
  readonly OpenAI: typeof OpenAI
  readonly Anthropic: typeof Anthropic
}

const NEWEST: Sdks = { generation: 'newest major', OpenAI, Anthropic }

/** What is called here is in both majors alike; their types are kept apart by private fields. */
const PREVIOUS: Sdks = {
  generation: 'previous major',
  OpenAI: PreviousOpenAI as unknown as typeof OpenAI,
  Anthropic: PreviousAnthropic as unknown as typeof Anthropic,
}

/** Applications stay on a major for long after the next one: both are clients that the gateway owes an answer. */
export const GENERATIONS: readonly Sdks[] = [NEWEST, PREVIOUS]

/** A server that the SDKs are pointed at: the demo upstream itself, or a gateway in front of it. */
export interface Door {
  /** Without a path, such as `http://127.0.0.1:8090`. */
  readonly url: string
  readonly key: string
  readonly sdks: Sdks
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
export function openai({ url, key, sdks }: Door): OpenAI {
  return new sdks.OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 })
}

export function anthropic({ url, key, sdks }: Door): Anthropic {
  return new sdks.Anthropic({ baseURL: url, apiKey: key, maxRetries: 0 })
}
