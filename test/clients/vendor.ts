/**
 * What a vendor answers, in the shapes of the vendors: a whole answer or a stream, in words or with a tool call. All
 * of it follows from the request, its usage too, so that every call is billed by numbers of its own.
 */

export interface VendorAnswer {
  readonly contentType: string
  readonly text: string
  /** What a gateway should bill; absent where the answer costs nothing, or reports no tokens. */
  readonly usage: BilledUsage | undefined
  /** What it should bill of a text that is read aloud. */
  readonly characters?: number
}

/** As the call log names it: input tokens include those that were read from or written to a cache. */
export interface BilledUsage {
  readonly input_tokens: number
  readonly cached_input_tokens: number
  readonly cache_write_tokens: number
  readonly output_tokens: number
}

interface VendorRequest {
  readonly model: string
  readonly stream?: boolean
  readonly stream_options?: { readonly include_usage?: boolean } | null
  readonly messages?: readonly { readonly role: string; readonly content: unknown }[]
  readonly tools?: readonly unknown[]
  readonly input?: string | readonly unknown[]
  readonly encoding_format?: string
  readonly documents?: readonly string[]
  readonly prompt?: string | readonly unknown[]
  readonly n?: number
}

const WORDS = ['Hello', ' {"model":"y"}', ' naïve 🌍']
const FRAGMENTS = ['{"city":', ' "Reykjavík"}']
const JSON_TYPE = 'application/json'
const EVENTS_TYPE = 'text/event-stream'
/** The floats 1 and 2 in base64, as `encoding_format: base64` asks. */
const VECTOR_BASE64 = 'AACAPwAAAEA='

/** @param target Path and query of the request. */
export function vendorAnswer(target: string, body: string): VendorAnswer {
  const path = target.split('?', 1)[0] ?? ''
  if (path.endsWith('/audio/transcriptions') || path.endsWith('/audio/translations'))
    return transcription(body)
  if (path.endsWith('/images/edits')) return images({ model: '', n: Number(formField(body, 'n') ?? 1) })
  const request = JSON.parse(body) as VendorRequest
  if (path.endsWith('/images/generations')) return images(request)
  if (path.endsWith('/audio/speech')) return speech(request)
  if (path.endsWith('/moderations')) return moderation(request)
  if (path.endsWith('/chat/completions')) return chat(request)
  if (path.endsWith('/completions')) return completion(request)
  if (path.endsWith('/responses') || path.endsWith('/responses/compact')) return response(request)
  if (path.endsWith('/messages')) return message(request)
  if (path.endsWith('/embeddings')) return embeddings(request)
  if (path.endsWith('/rerank')) return rerank(request)
  if (path.endsWith('/count_tokens')) return whole({ input_tokens: measureContent(request) }, undefined)
  throw new Error(`no answer for ${target}`)
}

function chat(request: VendorRequest): VendorAnswer {
  const usage = billed(request, 3, 0)
  const details = {
    prompt_tokens: usage.input_tokens,
    completion_tokens: usage.output_tokens,
    total_tokens: usage.input_tokens + usage.output_tokens,
    prompt_tokens_details: { cached_tokens: usage.cached_input_tokens },
  }
  const head = { id: 'chatcmpl-1', created: 1_700_000_000, model: request.model }
  const ends = callsTool(request) ? 'tool_calls' : 'stop'
  if (!request.stream) {
    const said = callsTool(request)
      ? { role: 'assistant', content: null, tool_calls: [toolCall(FRAGMENTS.join(''))] }
      : { role: 'assistant', content: WORDS.join('') }
    const choices = [{ index: 0, message: said, logprobs: null, finish_reason: ends }]
    return whole({ ...head, object: 'chat.completion', choices, usage: details }, usage)
  }
  const asked = request.stream_options?.include_usage === true
  const deltas: object[] = callsTool(request)
    ? FRAGMENTS.map((fragment, at) => ({
        tool_calls: [
          { index: 0, ...(at === 0 ? toolCall(fragment) : { function: { arguments: fragment } }) },
        ],
      }))
    : WORDS.map(content => ({ content }))
  const chunks = [{ role: 'assistant', content: '' }, ...deltas, {}].map((delta, at) => ({
    ...head,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason: at === deltas.length + 1 ? ends : null }],
    ...(asked && { usage: null }),
  }))
  const last = asked ? [{ ...head, object: 'chat.completion.chunk', choices: [], usage: details }] : []
  const events = [...chunks, ...last].map(chunk => `data: ${JSON.stringify(chunk)}\n\n`)
  return { contentType: EVENTS_TYPE, text: `${events.join('')}data: [DONE]\n\n`, usage }
}

function message(request: VendorRequest): VendorAnswer {
  const usage = billed(request, 3, 2)
  const input = {
    input_tokens: usage.input_tokens - usage.cached_input_tokens - usage.cache_write_tokens,
    cache_creation_input_tokens: usage.cache_write_tokens,
    cache_read_input_tokens: usage.cached_input_tokens,
  }
  const head = { id: 'msg_1', type: 'message', role: 'assistant', model: request.model }
  const ends = { stop_reason: callsTool(request) ? 'tool_use' : 'end_turn', stop_sequence: null }
  const block = { type: 'tool_use', id: 'toolu_1', name: 'get_weather' }
  if (!request.stream) {
    const said = callsTool(request)
      ? { ...block, input: JSON.parse(FRAGMENTS.join('')) as unknown }
      : { type: 'text', text: WORDS.join('') }
    return whole(
      { ...head, content: [said], ...ends, usage: { ...input, output_tokens: usage.output_tokens } },
      usage,
    )
  }
  const begun = { ...head, content: [], stop_reason: null, stop_sequence: null }
  const deltas = callsTool(request)
    ? FRAGMENTS.map(partial_json => ({ type: 'input_json_delta', partial_json }))
    : WORDS.map(text => ({ type: 'text_delta', text }))
  const events: { readonly type: string; readonly [field: string]: unknown }[] = [
    { type: 'message_start', message: { ...begun, usage: { ...input, output_tokens: 1 } } },
    {
      type: 'content_block_start',
      index: 0,
      content_block: callsTool(request) ? { ...block, input: {} } : { type: 'text', text: '' },
    },
    { type: 'ping' },
    ...deltas.map(delta => ({ type: 'content_block_delta', index: 0, delta })),
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: ends, usage: { output_tokens: usage.output_tokens } },
    { type: 'message_stop' },
  ]
  const text = events.map(event => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
  return { contentType: EVENTS_TYPE, text, usage }
}

/** Whole, or as events: an item of text or a call of the tool. */
function response(request: VendorRequest): VendorAnswer {
  const usage = billed(request, 3, 2)
  const item = callsTool(request)
    ? {
        type: 'function_call',
        id: 'fc_1',
        call_id: 'call_1',
        name: 'get_weather',
        arguments: FRAGMENTS.join(''),
      }
    : {
        type: 'message',
        id: 'msg_1',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: WORDS.join(''), annotations: [] }],
      }
  const details = {
    input_tokens: usage.input_tokens,
    input_tokens_details: {
      cached_tokens: usage.cached_input_tokens,
      cache_write_tokens: usage.cache_write_tokens,
    },
    output_tokens: usage.output_tokens,
    output_tokens_details: { reasoning_tokens: 1 },
    total_tokens: usage.input_tokens + usage.output_tokens,
  }
  const head = { id: 'resp_1', object: 'response', created_at: 1_700_000_000, model: request.model }
  const done = { ...head, status: 'completed', output: [item], usage: details }
  if (!request.stream) return whole(done, usage)
  const begun = { ...head, status: 'in_progress', output: [], usage: null }
  const delta = callsTool(request) ? 'response.function_call_arguments.delta' : 'response.output_text.delta'
  const at = { item_id: item.id, output_index: 0, content_index: 0 }
  const empty = callsTool(request) ? { ...item, arguments: '' } : { ...item, content: [] }
  const part = { type: 'output_text', text: '', annotations: [] }
  const events = [
    { type: 'response.created', response: begun },
    { type: 'response.output_item.added', output_index: 0, item: empty },
    ...(callsTool(request) ? [] : [{ type: 'response.content_part.added', ...at, part }]),
    ...(callsTool(request) ? FRAGMENTS : WORDS).map(text => ({ type: delta, ...at, delta: text })),
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: done },
  ]
  const text = events
    .map(
      (event, sequence_number) =>
        `event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number })}\n\n`,
    )
    .join('')
  return { contentType: EVENTS_TYPE, text, usage }
}

function completion(request: VendorRequest): VendorAnswer {
  const usage = billed(request, 0, 0)
  const counts = {
    prompt_tokens: usage.input_tokens,
    completion_tokens: usage.output_tokens,
    total_tokens: usage.input_tokens + usage.output_tokens,
  }
  const head = { id: 'cmpl-1', object: 'text_completion', created: 1_700_000_000, model: request.model }
  const choice = (text: string, finish_reason: string | null) => ({
    index: 0,
    text,
    logprobs: null,
    finish_reason,
  })
  if (!request.stream)
    return whole({ ...head, choices: [choice(WORDS.join(''), 'stop')], usage: counts }, usage)
  const asked = request.stream_options?.include_usage === true
  const chunks = WORDS.map((text, at) => ({
    ...head,
    choices: [choice(text, at === WORDS.length - 1 ? 'stop' : null)],
    ...(asked && { usage: null }),
  }))
  const last = asked ? [{ ...head, choices: [], usage: counts }] : []
  return { contentType: EVENTS_TYPE, text: `${dataOf([...chunks, ...last])}data: [DONE]\n\n`, usage }
}

function images(request: VendorRequest): VendorAnswer {
  const usage = { input_tokens: 5, cached_input_tokens: 0, cache_write_tokens: 0, output_tokens: 20 }
  const counts = {
    input_tokens: 5,
    input_tokens_details: { text_tokens: 5, image_tokens: 0 },
    output_tokens: 20,
    total_tokens: 25,
  }
  const b64_json = 'iVBORw0KGgo='
  const head = {
    background: 'auto',
    created_at: 1_700_000_000,
    output_format: 'png',
    quality: 'auto',
    size: '1024x1024',
  }
  if (request.stream) {
    const partial = { type: 'image_generation.partial_image', b64_json, partial_image_index: 0, ...head }
    return eventsOf(
      [partial, { type: 'image_generation.completed', b64_json, usage: counts, ...head }],
      usage,
    )
  }
  const data = Array.from({ length: request.n ?? 1 }, () => ({ b64_json }))
  return whole({ created: 1_700_000_000, data, usage: counts }, usage)
}

/** Speech reports no tokens. */
function speech({ input }: VendorRequest): VendorAnswer {
  return {
    contentType: 'audio/mpeg',
    text: 'ID3 audio',
    usage: undefined,
    characters: Array.from(String(input)).length,
  }
}

function moderation({ model, input }: VendorRequest): VendorAnswer {
  const results = [input].flat().map(() => ({
    flagged: false,
    categories: { violence: false },
    category_scores: { violence: 0.1 },
    category_applied_input_types: { violence: ['text'] },
  }))
  return whole({ id: 'modr-1', model, results }, NOTHING)
}

/** @param body A form, with a file of which nothing is read. */
function transcription(body: string): VendorAnswer {
  const usage = { input_tokens: 12, cached_input_tokens: 0, cache_write_tokens: 0, output_tokens: 7 }
  const counts = { type: 'tokens', input_tokens: 12, output_tokens: 7, total_tokens: 19 }
  const text = WORDS.join('')
  if (formField(body, 'stream') !== 'true') return whole({ text, usage: counts }, usage)
  const deltas = WORDS.map(delta => ({ type: 'transcript.text.delta', delta }))
  return eventsOf([...deltas, { type: 'transcript.text.done', text, usage: counts }], usage)
}

const NOTHING: BilledUsage = {
  input_tokens: 0,
  cached_input_tokens: 0,
  cache_write_tokens: 0,
  output_tokens: 0,
}

/** The value of a field in multipart/form-data. */
export function formField(body: string, name: string): string | undefined {
  return new RegExp(`name="${name}"\r\n\r\n([^\r]*)\r\n`).exec(body)?.[1]
}

function eventsOf(events: readonly object[], usage: BilledUsage): VendorAnswer {
  return { contentType: EVENTS_TYPE, text: dataOf(events), usage }
}

function dataOf(events: readonly object[]): string {
  return events.map(each => `data: ${JSON.stringify(each)}\n\n`).join('')
}

function embeddings(request: VendorRequest): VendorAnswer {
  const tokens = measureContent(request)
  const embedding = request.encoding_format === 'base64' ? VECTOR_BASE64 : [1, 2]
  const data = [request.input ?? []].flat().map((_, index) => ({ object: 'embedding', index, embedding }))
  return whole(
    { object: 'list', data, model: request.model, usage: { prompt_tokens: tokens, total_tokens: tokens } },
    { input_tokens: tokens, cached_input_tokens: 0, cache_write_tokens: 0, output_tokens: 0 },
  )
}

function rerank(request: VendorRequest): VendorAnswer {
  const tokens = measureContent(request)
  const results = (request.documents ?? []).map((_, index) => ({ index, relevance_score: 1 / (index + 1) }))
  return whole(
    { id: 'rerank-1', model: request.model, results, usage: { total_tokens: tokens } },
    { input_tokens: tokens, cached_input_tokens: 0, cache_write_tokens: 0, output_tokens: 0 },
  )
}

function whole(answer: object, usage: BilledUsage | undefined): VendorAnswer {
  return { contentType: JSON_TYPE, text: JSON.stringify(answer), usage }
}

function toolCall(text: string): object {
  return { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: text } }
}

/** A model that was offered a tool calls it, and answers its result in words. */
function callsTool({ tools, messages, input }: VendorRequest): boolean {
  const last = messages?.at(-1)
  const isResult =
    last?.role === 'tool' ||
    JSON.stringify(last?.content ?? '').includes('tool_result') ||
    JSON.stringify(input ?? '').includes('function_call_output')
  return (tools?.length ?? 0) > 0 && !isResult
}

function billed(request: VendorRequest, cached: number, written: number): BilledUsage {
  const input = measureContent(request)
  const output = (callsTool(request) ? FRAGMENTS : WORDS).length + input
  return {
    input_tokens: input + cached + written,
    cached_input_tokens: cached,
    cache_write_tokens: written,
    output_tokens: output,
  }
}

/** As many tokens as the content has characters: the model's name does not count, for it changes on the way. */
function measureContent({ messages, input, documents, prompt }: VendorRequest): number {
  return JSON.stringify(messages ?? input ?? documents ?? prompt ?? '').length
}
