import { expect } from 'vitest'
import { type Call, openai } from './door.ts'
import { asksForTool, ECHO, parameters, user, weather } from './scene.ts'

const openaiTool = { type: 'function', function: { name: 'get_weather', parameters } } as const

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
    title: 'openai: a text completion answers each prompt, and streams',
    async run(door) {
      const model = door.models.chat
      const ask = { model, prompt: ['one', 'two'], max_tokens: 50 }
      const answer = await openai(door).completions.create(ask)
      expect(answer).toMatchObject({ object: 'text_completion', model, usage: { prompt_tokens: 2 } })
      expect(answer.choices.map(({ text }) => text)).toEqual([' You said: one', ' You said: two'])
      const stream = await openai(door).completions.create({ model, prompt: 'one', stream: true })
      const chunks = []
      for await (const chunk of stream) chunks.push(chunk)
      expect(chunks.map(({ choices }) => choices[0]?.text).join('')).toBe(' You said: one')
      expect(chunks.every(chunk => chunk.model === model && !chunk.usage)).toBe(true)
    },
  },
  {
    title: 'openai: a response answers, is continued, fetched and deleted',
    async run(door) {
      const model = door.models.chat
      const { responses } = openai(door)
      const first = await responses.create({ model, input: 'one' })
      expect(first).toMatchObject({ object: 'response', model, output_text: 'You said: one' })
      const next = await responses.create({ model, input: 'two', previous_response_id: first.id })
      expect(next.output_text).toBe('You said: two')
      expect(next.usage?.input_tokens).toBeGreaterThan(first.usage?.input_tokens ?? 0)
      expect(await responses.retrieve(first.id)).toMatchObject({ id: first.id, model })
      const items = await responses.inputItems.list(next.id)
      expect(items.data).toMatchObject([{ role: 'user', content: 'two' }])
      const [item] = first.output
      const referred = await responses.create({
        model,
        input: [
          { type: 'item_reference', id: item?.id ?? '' },
          { role: 'user', content: 'three' },
        ],
      })
      expect(referred.output_text).toBe('You said: three')
      await responses.delete(first.id)
      const { NotFoundError, BadRequestError } = door.sdks.OpenAI
      await expect(responses.retrieve(first.id)).rejects.toBeInstanceOf(NotFoundError)
      await expect(responses.retrieve('resp_unknown')).rejects.toBeInstanceOf(NotFoundError)
      await expect(responses.cancel(next.id)).rejects.toBeInstanceOf(BadRequestError)
    },
  },
  {
    title: 'openai: a response is streamed by its events, under the model name that was asked for',
    async run(door) {
      const model = door.models.chat
      const stream = await openai(door).responses.create({ model, input: 'one', stream: true })
      const events = []
      for await (const event of stream) events.push(event)
      expect(events.map(event => event.sequence_number)).toEqual(events.map((_, at) => at))
      const inner = events.flatMap(event => ('response' in event ? event.response : []))
      expect(inner.length).toBeGreaterThan(1)
      expect(new Set(inner.map(response => response.model))).toEqual(new Set([model]))
      const final = await openai(door).responses.stream({ model, input: 'one' }).finalResponse()
      expect(final.output_text).toBe('You said: one')
      expect(final.usage).toMatchObject({ input_tokens: 1, output_tokens: 4 })
    },
  },
  {
    title: 'openai: a function of a response is called, and its result answered in words',
    async run(door) {
      const model = door.models.chat
      const tools = [{ type: 'function', name: 'get_weather', parameters, strict: null } as const]
      const { responses } = openai(door)
      const asked = await responses.create({ model, input: asksForTool.content, tools })
      const [call] = asked.output
      if (call?.type !== 'function_call') throw new Error('no call of a function')
      expect(JSON.parse(call.arguments)).toEqual(weather)
      const output = { type: 'function_call_output', call_id: call.call_id, output: 'rain' } as const
      const shown = await responses.create({ model, input: [output], tools, previous_response_id: asked.id })
      expect(shown.output_text).toBe('The tool answered: rain')
    },
  },
  {
    title: 'openai: images are made and edited, and streamed',
    async run(door) {
      const model = door.models.chat
      const { images } = openai(door)
      const made = await images.generate({ model, prompt: 'a cat', n: 2 })
      expect(made.data).toHaveLength(2)
      expect(made.usage).toMatchObject({ input_tokens: 2, output_tokens: 544 })
      const image = new File([new Uint8Array(1_000)], 'cat.png', { type: 'image/png' })
      const edited = await images.edit({ model, image, prompt: 'a dog' })
      expect(edited.data).toMatchObject([{ b64_json: expect.any(String) as string }])
      const events = []
      for await (const event of await images.generate({ model, prompt: 'a cat', stream: true }))
        events.push(event)
      expect(events).toMatchObject([{ type: 'image_generation.completed', usage: { output_tokens: 272 } }])
    },
  },
  {
    title: 'openai: a text is read aloud, and a recording is written down, in each form',
    async run(door) {
      const model = door.models.chat
      const { audio } = openai(door)
      const spoken = await audio.speech.create({
        model,
        input: 'Hello!',
        voice: 'alloy',
        response_format: 'wav',
      })
      const bytes = new Uint8Array(await spoken.arrayBuffer())
      expect(bytes.length).toBe(44 + 6 * 400)
      const file = new File([bytes], 'hello.wav', { type: 'audio/wav' })
      const said = `You sent ${bytes.length} bytes.`
      expect(await audio.transcriptions.create({ model, file })).toMatchObject({
        text: said,
        usage: { type: 'duration', seconds: 1 },
      })
      expect(await audio.transcriptions.create({ model, file, response_format: 'text' })).toBe(said)
      const events = []
      for await (const event of await audio.transcriptions.create({ model, file, stream: true }))
        events.push(event)
      expect(events).toMatchObject([{ delta: said }, { type: 'transcript.text.done', text: said }])
      expect(await audio.translations.create({ model, file })).toMatchObject({ text: said })
    },
  },
  {
    title: 'openai: a moderation gives a verdict for each text',
    async run(door) {
      const model = door.models.chat
      const verdict = await openai(door).moderations.create({ model, input: ['one', 'two'] })
      expect(verdict).toMatchObject({ model, results: [{ flagged: false }, { flagged: false }] })
    },
  },
  {
    title: 'openai: a request without messages raises BadRequestError, an unknown model NotFoundError',
    async run(door) {
      const broken = openai(door).chat.completions.create({ model: door.models.chat, messages: [] })
      await expect(broken).rejects.toBeInstanceOf(door.sdks.OpenAI.BadRequestError)
      await expect(openai(door).models.retrieve('no-such-model')).rejects.toBeInstanceOf(
        door.sdks.OpenAI.NotFoundError,
      )
    },
  },
]
