import {
  type DemoAnswer,
  DemoFault,
  type DemoScene,
  type Fields,
  isFields,
  modelOf,
  type StoredResponses,
} from './answer.ts'
import { cutToTokens, echo, pieces, readConversation, tokens } from './conversation.ts'
import { toolCallFor } from './tool-call.ts'

/** `POST /v1/responses`: the shapes of OpenAI's response object and of its events. */
export function responses(body: Fields, scene: DemoScene): DemoAnswer {
  const model = modelOf(body)
  const input = messagesOf(body['input'], scene.responses)
  const previous = body['previous_response_id']
  const earlier = typeof previous === 'string' ? scene.responses.get(previous).messages : []
  const messages = [...earlier, ...input]
  const conversation = readConversation({ messages, system: body['instructions'] })
  const call = toolCallFor(body, conversation)
  const { text, cut } = cutToTokens(echo(conversation), body['max_output_tokens'])
  const item: Item = call
    ? {
        type: 'function_call',
        id: scene.id('fc_'),
        call_id: scene.id('call_'),
        name: call.name,
        arguments: JSON.stringify(call.input),
      }
    : { type: 'message', id: scene.id('msg_'), text }
  const outputTokens = tokens(item.type === 'message' ? item.text : item.arguments)
  const usage = {
    input_tokens: conversation.inputTokens,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: conversation.inputTokens + outputTokens,
  }
  const isCut = cut && item.type === 'message'
  const frame = {
    id: scene.id('resp_'),
    object: 'response',
    created_at: Math.floor(scene.nowMs / 1000),
    model,
    error: null,
    incomplete_details: isCut ? { reason: 'max_output_tokens' } : null,
    instructions: body['instructions'] ?? null,
    metadata: {},
    parallel_tool_calls: true,
    temperature: 1,
    tool_choice: body['tool_choice'] ?? 'auto',
    tools: body['tools'] ?? [],
    top_p: 1,
    previous_response_id: body['previous_response_id'] ?? null,
    text: { format: { type: 'text' } },
    truncation: 'disabled',
  }
  const status = isCut ? 'incomplete' : 'completed'
  const whole = { ...frame, status, output: [outputOf(item, 'completed')], usage }
  if (body['store'] !== false) {
    const said = { role: 'assistant', content: item.type === 'message' ? item.text : item.arguments }
    const items = new Map([[item.id, said]])
    scene.responses.add({ whole, input, messages: [...messages, said], items })
  }
  if (body['stream'] !== true) return { kind: 'json', body: whole }
  const begun = { ...frame, incomplete_details: null, status: 'in_progress', output: [], usage: null }
  const events = [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    { type: 'response.output_item.added', output_index: 0, item: outputOf(item, 'in_progress') },
    ...partsOf(item),
    { type: 'response.output_item.done', output_index: 0, item: outputOf(item, 'completed') },
    { type: `response.${status}`, response: whole },
  ]
  return {
    kind: 'stream',
    events: events.map((event, sequence_number) => {
      const data = JSON.stringify({ ...event, sequence_number })
      return `event: ${event.type}\ndata: ${data}\n\n`
    }),
  }
}

type Item =
  | { readonly type: 'message'; readonly id: string; readonly text: string }
  | {
      readonly type: 'function_call'
      readonly id: string
      readonly call_id: string
      readonly name: string
      readonly arguments: string
    }

function outputOf(item: Item, status: 'in_progress' | 'completed'): Fields {
  const isDone = status === 'completed'
  if (item.type === 'function_call') return { ...item, arguments: isDone ? item.arguments : '', status }
  const content = isDone ? [textPart(item.text)] : []
  return { type: item.type, id: item.id, status, role: 'assistant', content }
}

function textPart(text: string): Fields {
  return { type: 'output_text', text, annotations: [], logprobs: [] }
}

/** The events between the start and the end of an item. */
function partsOf(item: Item): { type: string; [field: string]: unknown }[] {
  const place = { item_id: item.id, output_index: 0 }
  if (item.type === 'function_call') {
    return [
      { type: 'response.function_call_arguments.delta', ...place, delta: item.arguments },
      {
        type: 'response.function_call_arguments.done',
        ...place,
        name: item.name,
        arguments: item.arguments,
      },
    ]
  }
  const part = { ...place, content_index: 0 }
  return [
    { type: 'response.content_part.added', ...part, part: textPart('') },
    ...pieces(item.text).map(delta => ({
      type: 'response.output_text.delta',
      ...part,
      delta,
      logprobs: [],
    })),
    { type: 'response.output_text.done', ...part, text: item.text, logprobs: [] },
    { type: 'response.content_part.done', ...part, part: textPart(item.text) },
  ]
}

/** `GET` and `DELETE /v1/responses/{id}`, `POST …/cancel`, `GET …/input_items`; undefined for another path or method. */
export function storedResponse(
  method: string,
  path: string,
  stored: StoredResponses,
): DemoAnswer | undefined {
  const [, id = '', suffix = ''] = /^\/v1\/responses\/([^/]+)(\/.*)?$/.exec(path) ?? []
  if (id === '') return undefined
  switch (`${method} ${suffix}`) {
    case 'GET ':
      return { kind: 'json', body: stored.get(id).whole }
    case 'DELETE ':
      stored.delete(id)
      return { kind: 'json', body: { id, object: 'response', deleted: true } }
    case 'POST /cancel':
      stored.get(id)
      throw new DemoFault(400, 'Cannot cancel a synchronous response.')
    case 'GET /input_items': {
      const data = stored
        .get(id)
        .input.map((item, at) => ({ type: 'message', id: `msg_${at}_${id}`, ...item }))
      const ends = { first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null, has_more: false }
      return { kind: 'json', body: { object: 'list', data, ...ends } }
    }
    default:
      return undefined
  }
}

/** The input as chat messages: a text, messages, references to stored items, and the results of functions. */
function messagesOf(input: unknown, stored: StoredResponses): Fields[] {
  if (typeof input === 'string') return [{ role: 'user', content: input }]
  if (!Array.isArray(input) || input.length === 0 || !input.every(isFields))
    throw new DemoFault(400, "'input' must be a text or a list of at least one item", 'input')
  return input.map(item => {
    if (item['type'] === 'item_reference') return stored.itemOf(String(item['id']))
    return item['type'] === 'function_call_output' ? { role: 'tool', content: item['output'] } : item
  })
}
