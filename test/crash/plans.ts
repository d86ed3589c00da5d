import { json, reply, reset, sse } from '../support/answers.ts'
import type { Answer } from '../support/scripted-upstream.ts'
import type { Numbered } from './served.ts'

/** Tokens of each class, as an upstream reports them. */
export interface Reported {
  readonly input: number
  readonly cached: number
  readonly written: number
  readonly output: number
  readonly units: number
}

/** Of the price of every model here, nano-units for a token and for a search unit. */
export function priceOf({ input, cached, written, output, units }: Reported): bigint {
  const fresh = input - cached - written
  return BigInt(fresh * 1_000 + cached * 500 + written * 2_000 + output * 10_000 + units * 2_000_000)
}

export type Fate =
  /** Charged exactly what was reported. */
  | 'exact'
  /** Charged an estimate, and marked so. */
  | 'estimated'
  /** Broken off by the upstream: charged as partial. */
  | 'partial'
  /** Held, and released. */
  | 'released'
  /** Never held, and no endpoint was called. */
  | 'rejected'
  /** Nothing is held for it. */
  | 'free'

/** One outcome of the charge table: what to ask, what the upstream does, and what is to come of it. */
export interface Plan extends Numbered {
  readonly fate: Fate
  readonly status: number
  /** Whether an upstream is to see it. */
  readonly dispatched: boolean
  readonly answer?: (tokens: Reported) => Answer
}

const CHAT = '/v1/chat/completions'
const MESSAGES = '/v1/messages'

const NO_TOKENS: Reported = { input: 0, cached: 0, written: 0, output: 0, units: 0 }

/** Numbers that differ from request to request, by its number. */
export function tokensFor(plan: Plan, number: number): Reported {
  const input = 50 + (number % 97)
  if (plan.path === '/v1/rerank') return { ...NO_TOKENS, units: 1 + (number % 5) }
  if (plan.path === '/v1/embeddings') return { ...NO_TOKENS, input }
  if (plan.plan?.startsWith('zeros')) return NO_TOKENS
  const written = plan.path === MESSAGES ? number % 7 : 0
  return { input, cached: number % 11, written, output: 1 + (number % 53), units: 0 }
}

const text = 'word '.repeat(8)

const openai = ({ input, cached, output }: Reported) => ({
  prompt_tokens: input,
  prompt_tokens_details: { cached_tokens: cached },
  completion_tokens: output,
})
const anthropic = ({ input, cached, written, output }: Reported) => ({
  input_tokens: input - cached - written,
  cache_read_input_tokens: cached,
  cache_creation_input_tokens: written,
  output_tokens: output,
})

const data = (value: object) => `data: ${JSON.stringify(value)}\n\n`
const chunk = (more: object) =>
  data({ model: 'served', choices: [{ index: 0, delta: { content: text } }], ...more })
const event = (type: string, more: object = {}) => `event: ${type}\n${data({ type, ...more })}`
const start = (usage?: object) =>
  event('message_start', { message: { model: 'served', ...(usage && { usage }) } })
const delta = event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } })
const DONE = 'data: [DONE]\n\n'
const STOP = event('message_stop')

const chat = { path: CHAT, model: 'm', status: 200, dispatched: true } as const
const messages = { path: MESSAGES, model: 'm', status: 200, dispatched: true } as const

const page = reply({ headers: { 'content-type': 'text/html' }, body: '<html>' })

/** Every row of the charge table (spec/money.md §2), stream and not, in both protocols. */
export const PLANS: readonly Plan[] = [
  { ...chat, fate: 'exact', answer: t => json({ model: 'served', choices: [], usage: openai(t) }) },
  { ...messages, fate: 'exact', answer: t => json({ model: 'served', content: [], usage: anthropic(t) }) },
  {
    ...chat,
    path: '/v1/embeddings',
    fate: 'exact',
    answer: t => json({ usage: { prompt_tokens: t.input } }),
  },
  {
    ...chat,
    path: '/v1/rerank',
    fate: 'exact',
    answer: t => json({ results: [], meta: { billed_units: { search_units: t.units } } }),
  },
  {
    ...chat,
    stream: true,
    fate: 'exact',
    answer: t => sse([chunk({}), chunk({}), data({ choices: [], usage: openai(t) }), DONE]),
  },
  {
    ...chat,
    stream: true,
    fate: 'exact',
    plan: 'last choice',
    answer: t => sse([chunk({}), chunk({ usage: openai(t) }), DONE]),
  },
  {
    ...messages,
    stream: true,
    fate: 'exact',
    answer: t =>
      sse([
        start({ ...anthropic(t), output_tokens: 1 }),
        delta,
        event('message_delta', { usage: { output_tokens: t.output } }),
        STOP,
      ]),
  },
  {
    ...messages,
    stream: true,
    fate: 'exact',
    plan: 'start only',
    answer: t => sse([start(anthropic(t)), delta, STOP]),
  },
  { ...chat, fate: 'exact', plan: 'zeros', answer: t => json({ choices: [], usage: openai(t) }) },
  {
    ...messages,
    stream: true,
    fate: 'exact',
    plan: 'zeros, streamed',
    answer: t => sse([start(anthropic(t)), delta, STOP]),
  },
  {
    ...chat,
    fate: 'estimated',
    plan: 'absent',
    answer: () => json({ choices: [{ message: { content: text } }] }),
  },
  {
    ...chat,
    stream: true,
    fate: 'estimated',
    plan: 'absent, streamed',
    answer: () => sse([chunk({}), chunk({}), DONE]),
  },
  {
    ...chat,
    stream: true,
    fate: 'estimated',
    plan: 'negative',
    answer: t =>
      sse([chunk({}), data({ choices: [], usage: { ...openai(t), completion_tokens: -1 } }), DONE]),
  },
  { ...messages, stream: true, fate: 'estimated', plan: 'never', answer: () => sse([start(), delta, STOP]) },
  {
    ...messages,
    fate: 'estimated',
    plan: 'no number',
    answer: () => json({ content: [{ text }], usage: { input_tokens: 'x', output_tokens: 1 } }),
  },
  {
    ...chat,
    stream: true,
    fate: 'partial',
    plan: 'reset',
    answer: () => sse([chunk({}), chunk({})], { ending: 'reset' }),
  },
  {
    ...messages,
    stream: true,
    fate: 'partial',
    plan: 'cut',
    answer: () => sse([start(), delta], { ending: 'cut' }),
  },
  { ...chat, stream: true, fate: 'partial', plan: 'no end', answer: () => sse([chunk({})]) },
  {
    ...chat,
    status: 502,
    fate: 'released',
    plan: 'half a text',
    answer: () =>
      reply({
        headers: { 'content-type': 'application/json' },
        body: [`{"choices":[{"content":"${text}"}],`],
        framing: 'chunked',
        ending: 'cut',
      }),
  },
  ...([400, 413, 422] as const).map(
    (status): Plan => ({
      ...chat,
      status,
      fate: 'released',
      plan: `${status}`,
      answer: t => json({ error: {}, usage: openai(t) }, { status }),
    }),
  ),
  ...(
    [
      [401, 502],
      [404, 502],
      [429, 429],
      [500, 502],
      [503, 503],
      [529, 503],
    ] as const
  ).map(
    ([status, shown]): Plan => ({
      ...messages,
      status: shown,
      fate: 'released',
      plan: `${status}`,
      answer: () => json({}, { status }),
    }),
  ),
  { ...chat, status: 502, fate: 'released', plan: 'reset at once', answer: () => reset },
  { ...messages, status: 502, fate: 'released', plan: 'a page', answer: () => page },
  { ...chat, model: 'absent', status: 502, fate: 'released', dispatched: false },
  { ...chat, model: 'none', status: 404, fate: 'rejected', dispatched: false },
  { ...messages, model: '', status: 400, fate: 'rejected', dispatched: false },
  { ...messages, path: '/v1/messages/count_tokens', fate: 'free', answer: () => json({ input_tokens: 5 }) },
]
