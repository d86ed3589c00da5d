import { type DemoAnswer, type DemoScene, type Fields, isFields, modelOf } from './answer.ts'
import { answerCount, cutToTokens, echo, pieces, readConversation, tokens } from './conversation.ts'
import { fragments, type ToolCall, toolCallFor } from './tool-call.ts'

/** One choice of the answer, the same whether it is streamed or not. */
interface Choice {
  readonly index: number
  readonly text: string
  readonly call: (ToolCall & { readonly id: string }) | undefined
  readonly finish: 'stop' | 'length' | 'tool_calls'
}

/** `POST /v1/chat/completions`: the shapes of OpenAI's chat completion object and chunk object. */
export function chatCompletions(body: Fields, scene: DemoScene): DemoAnswer {
  const model = modelOf(body)
  const conversation = readConversation(body)
  const call = toolCallFor(body, conversation)
  const { text, cut } = cutToTokens(echo(conversation), body['max_completion_tokens'] ?? body['max_tokens'])
  const choices = Array.from({ length: answerCount(body['n']) }, (_, index): Choice => {
    if (call === undefined) return { index, text, call, finish: cut ? 'length' : 'stop' }
    return { index, text: '', call: { ...call, id: scene.id('call_') }, finish: 'tool_calls' }
  })
  const outputTokens = tokens(call === undefined ? text : JSON.stringify(call.input)) * choices.length
  const usage = {
    prompt_tokens: conversation.inputTokens,
    completion_tokens: outputTokens,
    total_tokens: conversation.inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
  }
  const frame = { id: scene.id('chatcmpl-'), created: Math.floor(scene.nowMs / 1000), model }
  if (body['stream'] === true) {
    const options = body['stream_options']
    const asked = isFields(options) && options['include_usage'] === true
    return { kind: 'stream', events: streamed(frame, choices, asked ? usage : undefined) }
  }
  return { kind: 'json', body: { ...frame, object: 'chat.completion', choices: choices.map(whole), usage } }
}

function whole({ index, text, call, finish }: Choice): Fields {
  const calls = call && [
    { id: call.id, type: 'function', function: { name: call.name, arguments: JSON.stringify(call.input) } },
  ]
  const message = {
    role: 'assistant',
    content: call ? null : text,
    refusal: null,
    ...(calls && { tool_calls: calls }),
  }
  return { index, message, logprobs: null, finish_reason: finish }
}

/**
 * For each choice: a chunk with the role, one for each piece, one with the finish reason. Then, if requested, a chunk
 * without choices that contains the usage; the others have `"usage":null`.
 */
function streamed(frame: Fields, choices: readonly Choice[], usage: Fields | undefined): string[] {
  const chunk = (list: readonly Fields[], counted: Fields | null = null): string =>
    `data: ${JSON.stringify({ ...frame, object: 'chat.completion.chunk', choices: list, ...(usage && { usage: counted }) })}\n\n`
  const events = choices.flatMap(choice =>
    deltas(choice).map(({ delta, finish }) =>
      chunk([{ index: choice.index, delta, logprobs: null, finish_reason: finish }]),
    ),
  )
  return [...events, ...(usage ? [chunk([], usage)] : []), 'data: [DONE]\n\n']
}

function deltas({ text, call, finish }: Choice): { delta: Fields; finish: string | null }[] {
  const end = { delta: {}, finish }
  if (call === undefined) {
    const spoken = pieces(text).map(content => ({ delta: { content }, finish: null }))
    return [{ delta: { role: 'assistant', content: '', refusal: null }, finish: null }, ...spoken, end]
  }
  const opening = { index: 0, id: call.id, type: 'function', function: { name: call.name, arguments: '' } }
  const filling = fragments(call.input).map(part => ({
    delta: { tool_calls: [{ index: 0, function: { arguments: part } }] },
    finish: null,
  }))
  return [
    { delta: { role: 'assistant', content: null, tool_calls: [opening] }, finish: null },
    ...filling,
    end,
  ]
}
