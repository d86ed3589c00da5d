import { type DemoAnswer, DemoFault, type DemoScene, type Fields, modelOf } from './answer.ts'
import { cutToTokens, echo, pieces, readConversation, tokens } from './conversation.ts'
import { fragments, toolCallFor } from './tool-call.ts'

/** One content block of the answer, and the deltas that build it up from `opening` in a stream. */
interface Block {
  readonly whole: Fields
  readonly opening: Fields
  readonly deltas: readonly Fields[]
}

/** `POST /v1/messages`: the shapes of Anthropic's message object and of its stream events. */
export function messages(body: Fields, scene: DemoScene): DemoAnswer {
  const model = modelOf(body)
  const limit = body['max_tokens']
  if (typeof limit !== 'number') throw new DemoFault(400, 'max_tokens: Field required', 'max_tokens')
  const conversation = readConversation(body)
  const call = toolCallFor(body, conversation)
  const { text, cut } = cutToTokens(echo(conversation), limit)
  const block = call === undefined ? textBlock(text) : toolBlock(call.name, call.input, scene.id('toolu_'))
  const ending = { stop_reason: call ? 'tool_use' : cut ? 'max_tokens' : 'end_turn', stop_sequence: null }
  const outputTokens = tokens(call === undefined ? text : JSON.stringify(call.input))
  const usage = {
    input_tokens: conversation.inputTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: outputTokens,
  }
  const frame = { id: scene.id('msg_'), type: 'message', role: 'assistant', model }
  if (body['stream'] !== true) {
    return { kind: 'json', body: { ...frame, content: [block.whole], ...ending, usage } }
  }
  const empty = { ...frame, content: [], stop_reason: null, stop_sequence: null }
  return {
    kind: 'stream',
    events: [
      event({ type: 'message_start', message: { ...empty, usage: { ...usage, output_tokens: 1 } } }),
      event({ type: 'content_block_start', index: 0, content_block: block.opening }),
      event({ type: 'ping' }),
      ...block.deltas.map(delta => event({ type: 'content_block_delta', index: 0, delta })),
      event({ type: 'content_block_stop', index: 0 }),
      event({ type: 'message_delta', delta: ending, usage }),
      event({ type: 'message_stop' }),
    ],
  }
}

/** `POST /v1/messages/count_tokens`. */
export function countTokens(body: Fields): DemoAnswer {
  modelOf(body)
  return { kind: 'json', body: { input_tokens: readConversation(body).inputTokens } }
}

function textBlock(text: string): Block {
  return {
    whole: { type: 'text', text },
    opening: { type: 'text', text: '' },
    deltas: pieces(text).map(piece => ({ type: 'text_delta', text: piece })),
  }
}

function toolBlock(name: string, input: Fields, id: string): Block {
  return {
    whole: { type: 'tool_use', id, name, input },
    opening: { type: 'tool_use', id, name, input: {} },
    // The real stream begins with an empty fragment, too.
    deltas: ['', ...fragments(input)].map(part => ({ type: 'input_json_delta', partial_json: part })),
  }
}

/** The `event:` line repeats the type; clients need it. */
function event(data: Fields & { readonly type: string }): string {
  return `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`
}
