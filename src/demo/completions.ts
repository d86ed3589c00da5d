import { type DemoAnswer, type DemoScene, type Fields, isFields, modelOf } from './answer.ts'
import { answerCount, cutToTokens, pieces, readTexts, tokens } from './conversation.ts'

interface Choice {
  readonly index: number
  readonly text: string
  readonly finish: 'stop' | 'length'
}

/** `POST /v1/completions`: the shapes of OpenAI's text completion object, which is also that of its chunks. */
export function completions(body: Fields, scene: DemoScene): DemoAnswer {
  const model = modelOf(body)
  const prompts = readTexts(body['prompt'], 'prompt')
  const texts = prompts.flatMap(prompt => Array.from({ length: answerCount(body['n']) }, () => prompt))
  const choices = texts.map((prompt, index): Choice => {
    const { text, cut } = cutToTokens(` You said: ${prompt}`, body['max_tokens'])
    return { index, text: body['echo'] === true ? prompt + text : text, finish: cut ? 'length' : 'stop' }
  })
  const inputTokens = prompts.reduce((sum, prompt) => sum + tokens(prompt), 0)
  const outputTokens = choices.reduce((sum, { text }) => sum + tokens(text), 0)
  const usage = {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
  }
  const created = Math.floor(scene.nowMs / 1000)
  const frame = { id: scene.id('cmpl-'), object: 'text_completion', created, model }
  if (body['stream'] !== true) {
    const whole = choices.map(({ text, index, finish }) => choiceOf(text, index, finish))
    return { kind: 'json', body: { ...frame, choices: whole, usage } }
  }
  const options = body['stream_options']
  const isAsked = isFields(options) && options['include_usage'] === true
  const event = (list: readonly Fields[], counted: Fields | null) =>
    `data: ${JSON.stringify({ ...frame, choices: list, ...(isAsked && { usage: counted }) })}\n\n`
  const events = choices.flatMap(({ text, index, finish }) => [
    ...pieces(text).map(piece => event([choiceOf(piece, index, null)], null)),
    event([choiceOf('', index, finish)], null),
  ])
  return { kind: 'stream', events: [...events, ...(isAsked ? [event([], usage)] : []), 'data: [DONE]\n\n'] }
}

function choiceOf(text: string, index: number, finish: Choice['finish'] | null): Fields {
  return { text, index, logprobs: null, finish_reason: finish }
}
