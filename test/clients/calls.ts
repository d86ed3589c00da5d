import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { expect } from 'vitest'

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

const HELLO = 'Hello there, naïve 🌍!'
const ECHO = `You said: ${HELLO}`
const user = { role: 'user', content: HELLO } as const
const asksForTool = { role: 'user', content: 'Please call get_weather.' } as const
const parameters = {
  type: 'object' as const,
  properties: { city: { type: 'string', examples: ['Reykjavík'] }, days: { type: 'integer', minimum: 3 } },
}
const weather = { city: 'Reykjavík', days: 3 }
const openaiTool = { type: 'function', function: { name: 'get_weather', parameters } } as const
const anthropicTool = { name: 'get_weather', input_schema: parameters }

export const OPENAI_CALLS: readonly Call[] = [
  {
    title: 'openai: lists the models and finds one by its name',
    async run(door) {
      const list = await openai(door).models.list()
      expect(list.data.map(model => model.id)).toContain(door.models.chat)
      expect(await openai(door).models.retrieve(door.models.chat)).toMatchObject({
        id: door.models.chat,
        object: 'model',
      })
    },
  },
  {
    title: 'openai: a chat answers under the model name that was asked for, with usage',
    async run(door) {
      const model = door.models.chat
      const answer = await openai(door).chat.completions.create({ model, messages: [user] })
      expect(answer).toMatchObject({ object: 'chat.completion', model })
      expect(answer.choices).toMatchObject([
        { message: { role: 'assistant', content: ECHO }, finish_reason: 'stop' },
      ])
      expect(answer.usage).toMatchObject({ prompt_tokens: 6, completion_tokens: 8, total_tokens: 14 })
    },
  },
  {
    title: 'openai: a raw stream brings a role, words, a reason, and no usage that was not asked for',
    async run(door) {
      const model = door.models.chat
      const stream = await openai(door).chat.completions.create({ model, messages: [user], stream: true })
      const chunks = []
      for await (const chunk of stream) chunks.push(chunk)
      expect(new Set(chunks.map(chunk => chunk.model))).toEqual(new Set([model]))
      expect(chunks[0]?.choices[0]?.delta.role).toBe('assistant')
      expect(chunks.map(chunk => chunk.choices[0]?.delta.content ?? '').join('')).toBe(ECHO)
      expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe('stop')
      expect(chunks.every(chunk => chunk.choices.length === 1 && !chunk.usage)).toBe(true)
    },
  },
  {
    title: 'openai: a raw stream ends with the usage where it was asked for',
    async run(door) {
      const stream = await openai(door).chat.completions.create({
        model: door.models.chat,
        messages: [user],
        stream: true,
        stream_options: { include_usage: true },
      })
      const chunks = []
      for await (const chunk of stream) chunks.push(chunk)
      expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 6, completion_tokens: 8 } })
      expect(chunks.slice(0, -1).every(chunk => chunk.usage === null)).toBe(true)
    },
  },
  {
    title: 'openai: the stream helper puts a message together',
    async run(door) {
      const stream = openai(door).chat.completions.stream({ model: door.models.chat, messages: [user] })
      expect(await stream.finalContent()).toBe(ECHO)
    },
  },
  {
    title: 'openai: a tool call comes whole, and its result is answered in words',
    async run(door) {
      const model = door.models.chat
      const ask = { model, messages: [asksForTool], tools: [openaiTool] }
      const answer = await openai(door).chat.completions.create(ask)
      expect(answer.choices[0]?.finish_reason).toBe('tool_calls')
      const message = answer.choices[0]?.message
      const call = message?.tool_calls?.[0]
      if (message === undefined || call?.type !== 'function') throw new Error('no call of a function')
      expect(call.function.name).toBe('get_weather')
      expect(JSON.parse(call.function.arguments)).toEqual(weather)
      const result = { role: 'tool', tool_call_id: call.id, content: 'rain' } as const
      const next = await openai(door).chat.completions.create({
        ...ask,
        messages: [asksForTool, message, result],
      })
      expect(next.choices[0]?.message.content).toBe('The tool answered: rain')
    },
  },
  {
    title: 'openai: a tool call is streamed as fragments of its arguments',
    async run(door) {
      const stream = openai(door).chat.completions.stream({
        model: door.models.chat,
        messages: [asksForTool],
        tools: [openaiTool],
      })
      let fragments = 0
      stream.on('tool_calls.function.arguments.delta', () => fragments++)
      const completion = await stream.finalChatCompletion()
      const call = completion.choices[0]?.message.tool_calls?.[0]
      if (call?.type !== 'function') throw new Error('no call of a function')
      expect(JSON.parse(call.function.arguments)).toEqual(weather)
      expect(fragments).toBeGreaterThan(1)
    },
  },
  {
    title: 'openai: embeddings are the same vectors as floats and as base64',
    async run(door) {
      const model = door.models.embedding
      const input = ['one text', 'another']
      const floats = await openai(door).embeddings.create({
        model,
        input,
        dimensions: 16,
        encoding_format: 'float',
      })
      // Without a format the SDK asks for base64 and decodes it.
      const decoded = await openai(door).embeddings.create({ model, input, dimensions: 16 })
      const base64 = await openai(door).embeddings.create({
        model,
        input,
        dimensions: 16,
        encoding_format: 'base64',
      })
      expect(floats).toMatchObject({ model, usage: { prompt_tokens: 4, total_tokens: 4 } })
      expect(floats.data.map(entry => entry.embedding.length)).toEqual([16, 16])
      expect(decoded.data).toEqual(floats.data)
      expect(base64.data.map(entry => entry.embedding)).toEqual([expect.any(String), expect.any(String)])
    },
  },
  {
    title: 'openai: a request without messages raises BadRequestError, an unknown model NotFoundError',
    async run(door) {
      const broken = openai(door).chat.completions.create({ model: door.models.chat, messages: [] })
      await expect(broken).rejects.toBeInstanceOf(OpenAI.BadRequestError)
      await expect(openai(door).models.retrieve('no-such-model')).rejects.toBeInstanceOf(OpenAI.NotFoundError)
    },
  },
]

export const ANTHROPIC_CALLS: readonly Call[] = [
  {
    title: 'anthropic: lists the models, page by page, and finds one by its name',
    async run(door) {
      const ids = []
      for await (const model of anthropic(door).models.list()) ids.push(model.id)
      expect(ids).toContain(door.models.messages)
      const found = await anthropic(door).models.retrieve(door.models.messages)
      expect(found).toMatchObject({ id: door.models.messages, type: 'model' })
    },
  },
  {
    title: 'anthropic: a message answers under the model name that was asked for, with usage',
    async run(door) {
      const model = door.models.messages
      const answer = await anthropic(door).messages.create({ model, max_tokens: 100, messages: [user] })
      expect(answer).toMatchObject({
        type: 'message',
        role: 'assistant',
        model,
        content: [{ type: 'text', text: ECHO }],
        stop_reason: 'end_turn',
        usage: { input_tokens: 6, output_tokens: 8 },
      })
    },
  },
  {
    title: 'anthropic: a raw stream brings every event in its order, the model name in the first',
    async run(door) {
      const model = door.models.messages
      const ask = { model, max_tokens: 100, messages: [user], stream: true as const }
      const events = []
      for await (const event of await anthropic(door).messages.create(ask)) events.push(event)
      const kinds = events.map(event => event.type).filter((kind, i, all) => kind !== all[i - 1])
      // The SDK keeps `ping` to itself.
      expect(kinds.filter(kind => (kind as string) !== 'ping')).toEqual([
        'message_start',
        'content_block_start',
        'content_block_delta',
        'content_block_stop',
        'message_delta',
        'message_stop',
      ])
      expect(events[0]).toMatchObject({ message: { model, usage: { input_tokens: 6 } } })
      expect(events.at(-2)).toMatchObject({ delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 8 } })
    },
  },
  {
    title: 'anthropic: the stream helper puts a message together',
    async run(door) {
      const model = door.models.messages
      const stream = anthropic(door).messages.stream({ model, max_tokens: 100, messages: [user] })
      expect(await stream.finalText()).toBe(ECHO)
      expect(await stream.finalMessage()).toMatchObject({
        model,
        usage: { input_tokens: 6, output_tokens: 8 },
      })
    },
  },
  {
    title: 'anthropic: a tool call comes whole, and its result is answered in words',
    async run(door) {
      const ask = { model: door.models.messages, max_tokens: 100, tools: [anthropicTool] }
      const answer = await anthropic(door).messages.create({ ...ask, messages: [asksForTool] })
      expect(answer.stop_reason).toBe('tool_use')
      const call = answer.content[0]
      if (call?.type !== 'tool_use') throw new Error('no tool_use')
      expect(call).toMatchObject({ name: 'get_weather', input: weather })
      const said = { role: 'assistant', content: answer.content } as const
      const result = { type: 'tool_result', tool_use_id: call.id, content: 'rain' } as const
      const next = await anthropic(door).messages.create({
        ...ask,
        messages: [asksForTool, said, { role: 'user', content: [result] }],
      })
      expect(next.content).toMatchObject([{ type: 'text', text: 'The tool answered: rain' }])
    },
  },
  {
    title: 'anthropic: a tool call is streamed as fragments of its input',
    async run(door) {
      const stream = anthropic(door).messages.stream({
        model: door.models.messages,
        max_tokens: 100,
        messages: [asksForTool],
        tools: [anthropicTool],
        tool_choice: { type: 'any' },
      })
      let fragments = 0
      stream.on('inputJson', () => fragments++)
      expect((await stream.finalMessage()).content).toMatchObject([{ type: 'tool_use', input: weather }])
      expect(fragments).toBeGreaterThan(1)
    },
  },
  {
    title: 'anthropic: counts the tokens of a message',
    async run(door) {
      const model = door.models.messages
      const counted = await anthropic(door).messages.countTokens({
        model,
        messages: [user],
        system: 'Be brief.',
      })
      expect(counted).toEqual({ input_tokens: 8 })
    },
  },
  {
    title: 'anthropic: a request without messages raises BadRequestError, an unknown model NotFoundError',
    async run(door) {
      const broken = anthropic(door).messages.create({
        model: door.models.messages,
        max_tokens: 1,
        messages: [],
      })
      await expect(broken).rejects.toBeInstanceOf(Anthropic.BadRequestError)
      await expect(anthropic(door).models.retrieve('no-such-model')).rejects.toBeInstanceOf(
        Anthropic.NotFoundError,
      )
    },
  },
]

/** Rerank has no SDK of the two vendors: a plain request. */
export const RERANK_CALL: Call = {
  title: 'rerank: the document that shares words with the query comes first, with usage and search units',
  async run(door) {
    const documents = ['bread and butter', 'a gateway for models', 'the sea']
    const answer = await fetch(`${door.url}/v1/rerank`, {
      method: 'POST',
      headers: { authorization: `Bearer ${door.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: door.models.rerank, query: 'which gateway?', documents, top_n: 2 }),
    })
    expect(answer.status).toBe(200)
    expect(await answer.json()).toMatchObject({
      model: door.models.rerank,
      results: [{ index: 1 }, { index: expect.any(Number) }],
      usage: { total_tokens: expect.any(Number) },
      meta: { billed_units: { search_units: 1 } },
    })
  },
}

export const CALLS: readonly Call[] = [...OPENAI_CALLS, ...ANTHROPIC_CALLS, RERANK_CALL]
