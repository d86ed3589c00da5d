import type { CallPath } from '../../src/schema/paths.ts'
import type { Piece } from '../support/answers.ts'

/** One call of a path, with the answers that its upstream can give; each complete answer costs 300,000 nano-units. */
export interface PathCall {
  readonly model: string
  readonly body: (stream: boolean) => { readonly contentType: string; readonly bytes: Buffer }
  readonly whole: AnswerBody
  /** In parts: events where the path has them, else a body of which the gateway hands out a part before its end. */
  readonly streamed: AnswerBody & { readonly begin: string; readonly rest: string }
  /** An error after the begin of `streamed`; absent where only the connection can say so. */
  readonly error?: string
}

export interface AnswerBody {
  readonly contentType: string
  readonly pieces: readonly Piece[]
}

/** Models whose complete answers all cost the same, by the units of their usage. */
export const PRICED_MODELS = `
  text: { price: { input: "1", output: "10" }, bindings: *bound }
  ranked: { price: { per_search_unit: "0.0003" }, bindings: *bound }
  drawn: { price: { per_image: "0.0003" }, bindings: *bound }
  spoken: { price: { per_character: "0.000015" }, bindings: *bound }
  heard: { price: { per_second: "0.0001" }, bindings: *bound }
  judged: { price: { per_request: "0.0003" }, bindings: *bound }`

/** Of 20 tokens at 4 bytes each. */
const TEXT = 'x'.repeat(80)
/** More than the gateway holds back of an answer in JSON. */
const PADDING = ' '.repeat(300_000)

const JSON_TYPE = 'application/json'
const CHAT_USAGE = { prompt_tokens: 100, completion_tokens: 20 }
const USAGE = { input_tokens: 100, output_tokens: 20 }
const MESSAGES = [{ role: 'user', content: 'hello' }]

const data = (value: object): string => `data: ${JSON.stringify(value)}\n\n`
const event = (type: string, more: object): string => `event: ${type}\n${data({ type, ...more })}`

/** A JSON body in two parts. */
function inParts(answer: object, firstMembers: string): PathCall['streamed'] {
  const begin = `{${PADDING}${firstMembers}`
  const rest = JSON.stringify({ model: 'served', ...answer }).slice(1)
  return { contentType: JSON_TYPE, begin, rest, pieces: [begin, rest] }
}

function events(begin: string, rest: string): PathCall['streamed'] {
  return { contentType: 'text/event-stream', begin, rest, pieces: [begin, rest] }
}

function whole(answer: object): AnswerBody {
  return { contentType: JSON_TYPE, pieces: [JSON.stringify({ model: 'served', ...answer })] }
}

function jsonCall(model: string, fields: object): PathCall['body'] {
  return stream => ({
    contentType: JSON_TYPE,
    bytes: Buffer.from(JSON.stringify({ model, ...fields, ...(stream && { stream: true }) })),
  })
}

function formCall(model: string, file: string): PathCall['body'] {
  const part = (name: string, content: string) =>
    `--x-boundary\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${content}\r\n`
  const filePart = `--x-boundary\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n${file}\r\n`
  return stream => {
    const streams = stream ? part('stream', 'true') : ''
    const text = `${filePart}${part('prompt', 'a cat')}${streams}${part('model', model)}--x-boundary--\r\n`
    return { contentType: 'multipart/form-data; boundary=x-boundary', bytes: Buffer.from(text) }
  }
}

/** A path whose answer is one JSON document. @param firstMembers Of the first part. */
function document(model: string, body: PathCall['body'], answer: object, firstMembers = ''): PathCall {
  return { model, body: () => body(false), whole: whole(answer), streamed: inParts(answer, firstMembers) }
}

const ERROR = data({ error: { message: 'overloaded', type: 'server_error', code: null } })

const response = (status: string, more: object) => ({
  response: { id: 'resp_1', object: 'response', status, model: 'served', output: [], ...more },
})

export const PATH_CALLS: Readonly<Record<CallPath, PathCall>> = {
  '/v1/chat/completions': {
    model: 'text',
    body: jsonCall('text', { messages: MESSAGES }),
    whole: whole({ choices: [{ message: { role: 'assistant', content: TEXT } }], usage: CHAT_USAGE }),
    streamed: events(
      data({ model: 'served', choices: [{ index: 0, delta: { content: TEXT } }] }),
      `${data({ choices: [], usage: CHAT_USAGE })}data: [DONE]\n\n`,
    ),
    error: ERROR,
  },
  '/v1/completions': {
    model: 'text',
    body: jsonCall('text', { prompt: 'hello' }),
    whole: whole({ choices: [{ text: TEXT }], usage: CHAT_USAGE }),
    streamed: events(
      data({ model: 'served', choices: [{ index: 0, text: TEXT }] }),
      `${data({ choices: [], usage: CHAT_USAGE })}data: [DONE]\n\n`,
    ),
    error: ERROR,
  },
  '/v1/responses': {
    model: 'text',
    body: jsonCall('text', { input: 'hello' }),
    whole: whole({ id: 'resp_1', object: 'response', status: 'completed', output: [], usage: USAGE }),
    streamed: events(
      event('response.created', response('in_progress', { usage: null })) +
        event('response.output_text.delta', { item_id: 'msg_1', delta: TEXT }),
      event('response.completed', response('completed', { usage: USAGE })),
    ),
    error: event('error', { code: 'server_error', message: 'overloaded', param: null }),
  },
  '/v1/responses/compact': document(
    'text',
    jsonCall('text', { input: 'hello' }),
    { id: 'resp_1', object: 'response.compaction', usage: USAGE },
    `"output":[{"type":"message","content":[{"type":"output_text","text":"${TEXT}"}]}],`,
  ),
  '/v1/responses/input_tokens': document('text', jsonCall('text', { input: 'hello' }), {
    object: 'response.input_tokens',
    input_tokens: 5,
  }),
  '/v1/embeddings': document('text', jsonCall('text', { input: 'hello' }), {
    data: [],
    usage: { prompt_tokens: 300 },
  }),
  '/v1/rerank': document('ranked', jsonCall('ranked', { query: 'hello', documents: ['a'] }), {
    results: [],
    meta: { billed_units: { search_units: 1 } },
  }),
  '/v1/images/generations': {
    model: 'drawn',
    body: jsonCall('drawn', { prompt: 'a cat' }),
    whole: whole({ data: [{ url: 'https://x/1' }] }),
    streamed: events(
      event('image_generation.partial_image', { b64_json: 'iVBO' }),
      event('image_generation.completed', { b64_json: 'iVBO', usage: USAGE }),
    ),
    error: event('error', { error: { type: 'image_generation_server_error', message: 'overloaded' } }),
  },
  '/v1/images/edits': {
    model: 'drawn',
    body: formCall('drawn', 'png'),
    whole: whole({ data: [{ url: 'https://x/1' }] }),
    streamed: events(
      event('image_edit.partial_image', { b64_json: 'iVBO' }),
      event('image_edit.completed', { b64_json: 'iVBO', usage: USAGE }),
    ),
    error: event('error', { error: { type: 'image_generation_server_error', message: 'overloaded' } }),
  },
  '/v1/audio/speech': {
    model: 'spoken',
    body: jsonCall('spoken', { input: 'x'.repeat(20), voice: 'alloy' }),
    whole: { contentType: 'audio/mpeg', pieces: ['audio'] },
    streamed: { contentType: 'audio/mpeg', begin: PADDING, rest: 'audio', pieces: [PADDING, 'audio'] },
  },
  '/v1/audio/transcriptions': {
    model: 'heard',
    body: formCall('heard', 'x'.repeat(32_000)),
    whole: whole({ text: TEXT, usage: { type: 'duration', seconds: 3 } }),
    streamed: events(
      event('transcript.text.delta', { delta: TEXT }),
      event('transcript.text.done', { text: TEXT, usage: { type: 'duration', seconds: 3 } }),
    ),
    error: event('error', { error: { type: 'server_error', message: 'overloaded' } }),
  },
  '/v1/audio/translations': document('heard', formCall('heard', 'x'.repeat(32_000)), {
    text: TEXT,
    usage: { type: 'duration', seconds: 3 },
  }),
  '/v1/moderations': document('judged', jsonCall('judged', { input: 'hello' }), {
    id: 'modr-1',
    results: [],
  }),
  '/v1/messages': {
    model: 'text',
    body: jsonCall('text', { max_tokens: 100, messages: MESSAGES }),
    whole: whole({ type: 'message', content: [{ type: 'text', text: TEXT }], usage: USAGE }),
    streamed: events(
      event('message_start', {
        message: { model: 'served', usage: { input_tokens: 100, output_tokens: 1 } },
      }) + event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: TEXT } }),
      event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 20 } }) +
        event('message_stop', {}),
    ),
    error: event('error', { error: { type: 'overloaded_error', message: 'overloaded' } }),
  },
  '/v1/messages/count_tokens': document('text', jsonCall('text', { messages: MESSAGES }), {
    input_tokens: 5,
  }),
}
