import { setTimeout as pause } from 'node:timers/promises'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { discoverEngines } from '../../src/agent/engine-addresses.ts'
import { showNode } from '../../src/services/nodes.ts'
import { hasLlamaCpp, type LlamaCpp, llamaCpp, SLOTS } from '../support/llama-cpp.ts'
import { joinAndRun } from '../support/running-node.ts'
import { tempDir } from '../support/temp-dir.ts'
import type { WhenOver } from '../support/when-over.ts'
import { type WholeGateway, wholeGateway } from '../support/whole-gateway.ts'

/**
 * The server of llama.cpp, as it is, with a model of random weights, as the engine of a node. `npm run engine` installs it and runs
 * this; skipped elsewhere.
 */
const APP_KEY = 'sk-a-secret-of-their-own-0123456789'
const METRICS_TOKEN = 'token-of-the-scraper'
const FILE = (port: number, model: string) => `version: 1
nodes: { gpu-1: {} }
endpoints:
  chat: { protocol: openai, served_model: ${model}, nodes: { names: [gpu-1], engine: llama.cpp } }
  messages: { protocol: anthropic, served_model: ${model}, nodes: { names: [gpu-1], engine: llama.cpp } }
  direct: { protocol: openai, served_model: ${model}, base_url: "http://127.0.0.1:${port}/v1" }
publications:
  chat: { price: { input: 1, output: 2 }, bindings: [{ endpoint: chat }] }
  messages: { price: { input: 1, output: 2 }, bindings: [{ endpoint: messages }] }
  direct: { price: { input: 1, output: 2 }, bindings: [{ endpoint: direct }] }
keys: { app: { kind: platform, secret: { env: APP_KEY } } }
`
const WEATHER = {
  name: 'get_weather',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string', enum: ['Paris', 'Oslo'] } },
    required: ['city'],
    additionalProperties: false,
  },
}
const messages = [{ role: 'user' as const, content: 'the light of the stone' }]
/** The same words each time. */
const FIXED = { temperature: 0, max_tokens: 24 }

describe.runIf(hasLlamaCpp)('llama.cpp on a node', () => {
  let engine: LlamaCpp
  let gateway: WholeGateway
  let openai: OpenAI
  let anthropic: Anthropic

  /** Vitest takes no hooks from within a hook. */
  const endings: Parameters<WhenOver>[0][] = []
  const whenOver: WhenOver = end => void endings.push(end)
  afterAll(async () => {
    for (const end of endings.reverse()) await end()
  })

  beforeAll(async () => {
    engine = await llamaCpp(whenOver)
    const file = tempDir(whenOver).write('gw.yaml', FILE(engine.port, engine.model))
    gateway = await wholeGateway(whenOver, file, { APP_KEY, METRICS_TOKEN })
    await joinAndRun(gateway, whenOver, 'gpu-1', await discoverEngines([engine.port]))
    openai = new OpenAI({ baseURL: `${gateway.gatewayUrl}/v1`, apiKey: APP_KEY, maxRetries: 0 })
    anthropic = new Anthropic({ baseURL: gateway.gatewayUrl, apiKey: APP_KEY, maxRetries: 0 })
  })

  const lastCall = async () => {
    const [call] = await gateway.inStore(({ store }) => store.accounting.callLogs({ limit: 1 }))
    return call
  }
  /** Runs one call, and expects its bill, which is in the store before the next call. */
  const billed = async <T>(run: () => Promise<T>, tokens: (answer: T) => object = () => ({})): Promise<T> => {
    const before = (await lastCall())?.id ?? 0
    const answer = await run()
    const isLater = async () => ((await lastCall())?.id ?? 0) > before
    await expect.poll(isLater).toBe(true)
    expect((await lastCall())?.usage).toMatchObject(tokens(answer))
    return answer
  }
  const shown = async () =>
    (await gateway.inStore(context => showNode(context, { name: 'gpu-1' }))).engines?.[0]

  test('it is discovered, and shown with its model', async () => {
    expect(await discoverEngines([engine.port])).toEqual([
      { name: 'llama.cpp', host: '127.0.0.1', port: engine.port },
    ])
    expect(await shown()).toMatchObject({
      name: 'llama.cpp',
      kind: 'llama.cpp',
      state: 'up',
      models: ['tiny'],
    })
  })

  test('a chat is the same as that of a direct endpoint, and billed as the engine counts', async () => {
    const chat = (model: string) =>
      billed(
        () => openai.chat.completions.create({ model, messages, ...FIXED }),
        ({ usage }) => ({ inputTokens: usage?.prompt_tokens, outputTokens: FIXED.max_tokens }),
      )
    const [through, direct] = [await chat('chat'), await chat('direct')]
    expect([through.model, direct.model]).toEqual(['chat', 'direct'])
    expect(through.choices).toEqual(direct.choices)
    expect(through.usage).toMatchObject({ prompt_tokens: direct.usage?.prompt_tokens })
  })

  test('a stream has the words of the whole answer, and no usage that was not asked for', async () => {
    const whole = await billed(() => openai.chat.completions.create({ model: 'chat', messages, ...FIXED }))
    const inputTokens = whole.usage?.prompt_tokens
    for (const asks of [false, true]) {
      const read = async () => {
        const stream = await openai.chat.completions.create({
          model: 'chat',
          messages,
          ...FIXED,
          stream: true,
          ...(asks && { stream_options: { include_usage: true } }),
        })
        const chunks = []
        for await (const chunk of stream) chunks.push(chunk)
        return chunks
      }
      const chunks = await billed(read, () => ({ inputTokens, outputTokens: FIXED.max_tokens }))
      expect(new Set(chunks.map(({ model }) => model))).toEqual(new Set(['chat']))
      expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe(
        whole.choices[0]?.message.content,
      )
      expect(chunks.flatMap(({ usage }) => usage?.completion_tokens ?? [])).toEqual(
        asks ? [FIXED.max_tokens] : [],
      )
    }
  })

  test('a tool call comes whole and streamed', async () => {
    const ask = {
      model: 'chat',
      messages,
      temperature: 0,
      max_tokens: 200,
      tools: [{ type: 'function' as const, function: WEATHER }],
      tool_choice: 'required' as const,
      parallel_tool_calls: false,
    }
    const { choices } = await billed(() => openai.chat.completions.create(ask))
    const call = choices[0]?.message.tool_calls?.[0]
    if (call?.type !== 'function') throw new Error('no call of a function')
    expect(call.function.name).toBe('get_weather')
    expect(['Paris', 'Oslo']).toContain((JSON.parse(call.function.arguments) as { city: string }).city)
    const streamed = await billed(() => openai.chat.completions.stream(ask).finalChatCompletion())
    expect(streamed.choices[0]?.message.tool_calls?.[0]).toMatchObject({
      function: { name: 'get_weather', arguments: call.function.arguments },
    })
  })

  test('a message answers the SDK of the other protocol, whole and streamed, and is billed', async () => {
    const ask = { model: 'messages', messages, ...FIXED }
    const tokens = () => ({ outputTokens: FIXED.max_tokens })
    const whole = await billed(() => anthropic.messages.create(ask), tokens)
    expect(whole).toMatchObject({ type: 'message', model: 'messages', stop_reason: 'max_tokens' })
    expect(whole.usage.output_tokens).toBe(FIXED.max_tokens)
    const streamed = await billed(() => anthropic.messages.stream(ask).finalMessage(), tokens)
    expect(streamed.content).toEqual(whole.content)
  })

  test('what runs and what waits in it reaches the metrics, and a client that leaves makes room', async () => {
    const figures = async () => {
      const scrape = await fetch(`${gateway.gatewayUrl}/metrics`, {
        headers: { authorization: `Bearer ${METRICS_TOKEN}` },
      })
      const text = await scrape.text()
      return ['running', 'waiting'].map(what =>
        Number(new RegExp(`^gw_node_engine_requests\\{.*state="${what}"\\} (\\d+)$`, 'm').exec(text)?.[1]),
      )
    }
    const leaving = new AbortController()
    const waiting = 3
    const client = async (): Promise<void> => {
      while (!leaving.signal.aborted) {
        const ask = {
          model: 'chat',
          messages,
          temperature: 0,
          max_tokens: 4_000,
          stream: true,
        } as const
        for await (const _ of await openai.chat.completions.create(ask, { signal: leaving.signal }));
      }
    }
    const calls = Array.from({ length: SLOTS + waiting }, client)
    const ended = Promise.allSettled(calls)
    await expect.poll(figures).toEqual([SLOTS, waiting])
    leaving.abort()
    await ended
    await expect.poll(figures).toEqual([0, 0])
  })

  test('when it dies in a stream there is an error and no end, and it serves again after its start', async () => {
    const stream = await fetch(`${gateway.gatewayUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${APP_KEY}` },
      body: JSON.stringify({ model: 'chat', messages, max_tokens: 4_000, stream: true }),
    })
    const reader = stream.body?.getReader()
    await reader?.read()
    await engine.kill()
    let rest = ''
    for (;;) {
      const { done, value } = (await reader?.read()) ?? { done: true, value: undefined }
      if (done) break
      rest += Buffer.from(value as Uint8Array).toString()
    }
    expect(rest).toContain('"error"')
    expect(rest).not.toContain('[DONE]')
    await expect.poll(async () => (await shown())?.state).toBe('down')
    await engine.start()
    const status = () =>
      openai.chat.completions.create({ model: 'chat', messages, ...FIXED }).then(
        () => 200,
        (error: { readonly status?: number }) => error.status,
      )
    while ((await status()) !== 200) await pause(200)
    expect((await gateway.inStore(({ store }) => store.accounting.verify())).findings).toEqual([])
  })
})
