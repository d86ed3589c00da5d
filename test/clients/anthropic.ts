import { expect } from 'vitest'
import { anthropic, type Call } from './door.ts'
import { asksForTool, ECHO, parameters, user, weather } from './scene.ts'

const anthropicTool = { name: 'get_weather', input_schema: parameters }

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
      await expect(broken).rejects.toBeInstanceOf(door.sdks.Anthropic.BadRequestError)
      await expect(anthropic(door).models.retrieve('no-such-model')).rejects.toBeInstanceOf(
        door.sdks.Anthropic.NotFoundError,
      )
    },
  },
]
