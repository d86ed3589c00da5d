import { expect, it } from 'vitest'
import { sse } from '../support/answers.ts'
import { billingScene, nano, openaiChunk, readUntil, textChunk, usageChunk } from './billing-scene.ts'
import { CHAT, RESPONSES, TRANSCRIPTIONS } from './calls.ts'

const STREAM = { stream: true, messages: [] }
/** The output of 100 tokens, at 4 bytes each. */
const TEXT = 'x'.repeat(400)
/** As much in two bytes a character, which JSON may escape with six. */
const UMLAUTS = String.raw`\u00e4`.repeat(200)

/** The output tokens and flags of a call whose client leaves in the middle of its stream. */
async function left(path: string, body: object | FormData, events: string) {
  const { upstream, gateway, call, settlement } = await billingScene()
  upstream.answer(sse([events], { ending: 'hang' }))
  const leaving = new AbortController()
  const { signal } = leaving
  const headers = { authorization: `Bearer ${gateway.secretOf('app')}` }
  const answer =
    body instanceof FormData
      ? await fetch(gateway.url + path, { method: 'POST', headers, body, signal })
      : await call(path, body, { signal })
  await readUntil(answer, text => text.includes(events.slice(-60).trim()))
  leaving.abort()
  await upstream.lastRequest.gone
  const { usage, flags, amountNano } = await settlement()
  expect(amountNano).toBe(nano({ fresh: usage.inputTokens, output: usage.outputTokens }))
  return [usage.outputTokens, flags]
}

it('a usage that is followed by text is not the last one: the text is charged', async () => {
  const events = usageChunk(100, 0) + textChunk(TEXT)
  const body = { ...STREAM, stream_options: { include_usage: true } }
  expect(await left(CHAT, body, events)).toEqual([100, ['client_gone', 'estimated']])
})

it('a usage beside text, as a server that counts in every chunk reports it, is charged as it is', async () => {
  const usage = { prompt_tokens: 100, completion_tokens: 90 }
  const events = openaiChunk({ choices: [{ index: 0, delta: { content: TEXT } }], usage })
  expect(await left(CHAT, STREAM, events)).toEqual([90, ['client_gone']])
})

it('what a model speaks is charged by its transcript', async () => {
  const audio = { id: 'a', transcript: TEXT, data: 'AAAA' }
  const events = openaiChunk({ choices: [{ index: 0, delta: { audio } }] })
  expect(await left(CHAT, STREAM, events)).toEqual([100, ['client_gone', 'estimated']])
})

it('the text of a response is charged without the escapes of JSON', async () => {
  const events = `data: {"type":"response.output_text.delta","sequence_number":1,"delta":"${UMLAUTS}"}\n\n`
  expect(await left(RESPONSES, { stream: true, input: 'hi' }, events)).toEqual([
    100,
    ['client_gone', 'estimated'],
  ])
})

it('so is the text of a transcription', async () => {
  const form = new FormData()
  form.append('model', 'm')
  form.append('stream', 'true')
  form.append('file', new Blob(['RIFF']), 'a.wav')
  const events = `data: {"type":"transcript.text.delta","delta":"${UMLAUTS}"}\n\n`
  expect(await left(TRANSCRIPTIONS, form, events)).toEqual([100, ['client_gone', 'estimated']])
})
