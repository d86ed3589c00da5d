import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { json, sse } from '../support/answers.ts'
import { gate } from '../support/gate.ts'
import { BASIC_SECRETS, basicConfig, testGateway } from '../support/gateway.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'
import { anthropic, type Door, GENERATIONS, openai } from './door.ts'

const upstream = await scriptedUpstream(afterAll)
const restricted = '  narrow: { kind: platform, models: ["only-this"] }\n'
const gateway = await testGateway(afterAll, basicConfig(upstream.url) + restricted, {
  secrets: BASIC_SECRETS,
})
beforeEach(() => upstream.forget())

const models = { chat: 'ext/chat', messages: 'ext-claude', embedding: '', rerank: '' }
const messages = [{ role: 'user' as const, content: 'hi' }]

function chat(at: Door, model = 'ext/chat') {
  return openai(at).chat.completions.create({ model, messages })
}

function message(at: Door, model = 'ext-claude') {
  return anthropic(at).messages.create({ model, max_tokens: 5, messages })
}

describe.each(GENERATIONS)('the SDKs of the $generation', sdks => {
  const door: Door = { sdks, url: gateway.url, key: gateway.secretOf('admin'), models }
  const wrongKey: Door = { ...door, key: 'gw_no-such-key-0123456789' }
  const narrowKey: Door = { ...door, key: gateway.secretOf('narrow') }

  describe('the OpenAI SDK raises the class that its users catch', () => {
    test('AuthenticationError for a wrong key', async () => {
      await expect(chat(wrongKey)).rejects.toThrow(sdks.OpenAI.AuthenticationError)
      await expect(chat(wrongKey)).rejects.toMatchObject({
        code: 'invalid_api_key',
        requestID: expect.stringMatching(/^req_/),
      })
    })
    test('NotFoundError for an unknown model, and for one of the other protocol', async () => {
      await expect(chat(door, 'absent')).rejects.toThrow(sdks.OpenAI.NotFoundError)
      await expect(chat(door, 'absent')).rejects.toMatchObject({ code: 'model_not_found', param: 'model' })
      await expect(chat(door, 'ext-claude')).rejects.toThrow('/v1/messages')
    })
    test('PermissionDeniedError for a model that the key may not use', async () => {
      await expect(chat(narrowKey)).rejects.toThrow(sdks.OpenAI.PermissionDeniedError)
    })
    test('BadRequestError for what the upstream rejects, in its own words', async () => {
      upstream.answerNext(
        json(
          {
            error: {
              message: 'messages: too short',
              type: 'invalid_request_error',
              param: 'messages',
              code: null,
            },
          },
          { status: 400 },
        ),
      )
      const rejected = chat(door)
      await expect(rejected).rejects.toThrow(sdks.OpenAI.BadRequestError)
      await expect(rejected).rejects.toThrow('messages: too short')
    })
  })

  describe('the Anthropic SDK raises the class that its users catch', () => {
    test('AuthenticationError for a wrong key', async () => {
      await expect(message(wrongKey)).rejects.toThrow(sdks.Anthropic.AuthenticationError)
      await expect(message(wrongKey)).rejects.toMatchObject({ requestID: expect.stringMatching(/^req_/) })
    })
    test('NotFoundError for an unknown model, and for one of the other protocol', async () => {
      await expect(message(door, 'absent')).rejects.toThrow(sdks.Anthropic.NotFoundError)
      await expect(message(door, 'ext/chat')).rejects.toThrow('/v1/chat/completions')
    })
    test('PermissionDeniedError for a model that the key may not use', async () => {
      await expect(message(narrowKey)).rejects.toThrow(sdks.Anthropic.PermissionDeniedError)
    })
    test('BadRequestError for what the upstream rejects, in its own words', async () => {
      const body = {
        type: 'error',
        error: { type: 'invalid_request_error', message: 'max_tokens: too small' },
      }
      upstream.answerNext(json(body, { status: 400 }))
      const rejected = message(door)
      await expect(rejected).rejects.toThrow(sdks.Anthropic.BadRequestError)
      await expect(rejected).rejects.toThrow('max_tokens: too small')
    })
  })

  describe('an SDK that aborts a stream midway', () => {
    test('openai: the upstream sees the hang-up', async () => {
      const never = gate()
      upstream.answerNext(
        sse(['data: {"model":"m","choices":[{"index":0,"delta":{"content":"a"}}]}\n\n', never]),
      )
      const stream = await openai(door).chat.completions.create({ model: 'ext/chat', messages, stream: true })
      for await (const chunk of stream) {
        expect(chunk.model).toBe('ext/chat')
        stream.controller.abort()
      }
      await upstream.lastRequest.gone
    })

    test('anthropic: the upstream sees the hang-up', async () => {
      const never = gate()
      const start =
        '{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"model":"m","usage":{"input_tokens":1,"output_tokens":1}}}'
      upstream.answerNext(sse([`event: message_start\ndata: ${start}\n\n`, never]))
      const stream = await anthropic(door).messages.create({
        model: 'ext-claude',
        max_tokens: 5,
        messages,
        stream: true,
      })
      for await (const event of stream) {
        if (event.type === 'message_start') expect(event.message.model).toBe('ext-claude')
        stream.controller.abort()
      }
      await upstream.lastRequest.gone
    })
  })
})
