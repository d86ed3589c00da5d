import { useEffect, useRef, useState } from 'react'
import type { Api, Shapes } from './client.ts'

export type PlaygroundCall = Shapes['playground_call']
type Event = Shapes['playground_event']

/** The state of a call through the gateway, updated with each part of the answer. */
export interface Run {
  readonly state: 'running' | 'done' | 'failed'
  /** The model that was asked. */
  readonly model: string
  readonly status?: number
  readonly requestId?: string | null
  /** What a model has written so far. */
  readonly text: string
  /** The body of the answer, as it came. */
  readonly raw: string
  readonly firstByteMs?: number | null
  readonly totalMs?: number
  /** The line of the call log; null for a rejected call. */
  readonly call?: Shapes['call'] | null
  readonly error?: Error
}

/** Sends calls, one at a time: a new one ends the one before, and so does leaving the page. */
export function useRun(api: Api): {
  readonly run: Run | undefined
  readonly send: (call: PlaygroundCall) => Promise<Run>
  readonly stop: () => void
  /** Ends the call, and shows none. */
  readonly clear: () => void
} {
  const [run, setRun] = useState<Run>()
  const current = useRef<AbortController>(undefined)
  const stop = () => current.current?.abort()
  const clear = () => {
    stop()
    current.current = undefined
    setRun(undefined)
  }
  useEffect(() => () => current.current?.abort(), [])
  const send = async (call: PlaygroundCall) => {
    stop()
    const controller = new AbortController()
    current.current = controller
    let latest: Run = { state: 'running', model: String(call.body['model']), text: '', raw: '' }
    const show = (next: Run) => {
      latest = next
      if (current.current === controller) setRun(next)
    }
    show(latest)
    try {
      const text = new AnswerText()
      for await (const event of eventsOf(api, call, controller.signal)) show(after(latest, event, text))
      if (latest.state === 'running') throw new Error('The answer ended before its end was reported.')
    } catch (error) {
      const failure = error instanceof Error ? error : new Error(String(error))
      show({ ...latest, state: 'failed', ...(!controller.signal.aborted && { error: failure }) })
    }
    return latest
  }
  return { run, send, stop, clear }
}

function after(run: Run, event: Event, text: AnswerText): Run {
  if (event.event === 'head') {
    text.isStream = event.content_type?.startsWith('text/event-stream') ?? false
    return { ...run, status: event.status, requestId: event.request_id }
  }
  if (event.event === 'data')
    return { ...run, raw: run.raw + event.text, text: run.text + text.read(event.text) }
  return {
    ...run,
    state: 'done',
    text: run.text + text.rest(),
    firstByteMs: event.first_byte_ms,
    totalMs: event.total_ms,
    call: event.call,
  }
}

async function* eventsOf(api: Api, body: PlaygroundCall, signal: AbortSignal): AsyncGenerator<Event> {
  const { data } = await api.POST('/api/v1/playground/calls', { body, signal, parseAs: 'stream' })
  const reader = (data as ReadableStream<BufferSource>).pipeThrough(new TextDecoderStream()).getReader()
  let pending = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const blocks = (pending + value).split('\n\n')
    pending = blocks.pop() ?? ''
    for (const block of blocks) yield JSON.parse(block.split('\ndata: ')[1] ?? 'null') as Event
  }
}

/** Extracts the text of the model from the answers of all paths. */
class AnswerText {
  isStream = false
  #pending = ''

  /** The text in a further part of the body. */
  read(part: string): string {
    this.#pending += part
    if (!this.isStream) return ''
    const lines = this.#pending.split('\n')
    this.#pending = lines.pop() ?? ''
    return lines.map(line => (line.startsWith('data: {') ? textIn(line.slice('data: '.length)) : '')).join('')
  }

  /** The text of a JSON body, which can be parsed only when it is complete. */
  rest(): string {
    return this.isStream ? '' : textIn(this.#pending)
  }
}

function textIn(json: string): string {
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch {
    return ''
  }
  const answer = value as Answer
  return (
    answer.choices
      ?.map(({ delta, message, text }) => delta?.content ?? message?.content ?? text ?? '')
      .join('\n') ??
    answer.content?.map(({ text = '' }) => text).join('') ??
    answer.output?.flatMap(({ content = [] }) => content.map(({ text = '' }) => text)).join('') ??
    (typeof answer.delta === 'string' ? answer.delta : answer.delta?.text) ??
    ''
  )
}

/** The members that may have text in chat completions, text completions, messages and responses, whole or streamed. */
interface Answer {
  readonly choices?: readonly {
    readonly delta?: { readonly content?: string | null }
    readonly message?: { readonly content?: string | null }
    readonly text?: string
  }[]
  readonly content?: readonly { readonly text?: string }[]
  readonly output?: readonly { readonly content?: readonly { readonly text?: string }[] }[]
  readonly delta?: string | { readonly text?: string }
}
