import { onTestFinished } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import type { AskPorts } from '../../../src/upstream/probe/ask.ts'
import { httpProbe } from '../../../src/upstream/probe/http-probe.ts'
import type { Diagnosis, ProbeOutcome, ProbeTarget } from '../../../src/upstream/probe.ts'
import { json } from '../../support/answers.ts'
import { type Answer, type ScriptedUpstream, scriptedUpstream } from '../../support/scripted-upstream.ts'

export const SECRET = 'sk-canary-0123456789abcdefghij'

export function target(url: string, more: Partial<ProbeTarget> = {}): ProbeTarget {
  const { origin, pathname } = new URL(url)
  return {
    name: 'up',
    protocol: 'openai',
    origin,
    basePath: pathname.replace(/\/+$/, ''),
    servedModel: 'gpt-x',
    headers: ['authorization', `Bearer ${SECRET}`],
    secrets: [SECRET],
    credential: 'env:UP_KEY',
    connectMs: 60_000,
    firstByteMs: 60_000,
    idleMs: 60_000,
    totalMs: 60_000,
    ...more,
  }
}

/** The two chats that answer well. */
export const OPENAI_CHAT = { id: 'c', object: 'chat.completion', choices: [{ index: 0 }] }
export const ANTHROPIC_CHAT = { id: 'm', type: 'message', role: 'assistant', content: [] }

export function models(...ids: readonly string[]): Answer {
  return json({ object: 'list', data: ids.map(id => ({ id, object: 'model' })) })
}

export function openaiError(status: number, message: string, more: Record<string, unknown> = {}): Answer {
  return json(
    { error: { message, type: 'invalid_request_error', param: null, code: null, ...more } },
    { status },
  )
}

export function anthropicError(status: number, type: string, message: string): Answer {
  return json({ type: 'error', error: { type, message } }, { status })
}

/** An upstream that answers `METHOD path` by the table, and all else as FastAPI does. */
export async function serving(routes: Readonly<Record<string, Answer>>): Promise<ScriptedUpstream> {
  const upstream = await scriptedUpstream(onTestFinished)
  upstream.answer(exchange => {
    const { method, target: path } = exchange.request
    const route = routes[`${method} ${path}`] ?? json({ detail: 'Not Found' }, { status: 404 })
    return route(exchange)
  })
  return upstream
}

export async function chat(of: ProbeTarget, ports: Partial<AskPorts> = {}, timeoutMs = 10_000) {
  return httpProbe({ clock: systemClock, ...ports }).chat(of, { timeoutMs })
}

/** The diagnosis of a probe that must fail. */
export async function diagnosed(outcome: Promise<ProbeOutcome>): Promise<Diagnosis> {
  const settled = await outcome
  if (settled.ok) throw new Error(`alive, with ${settled.service}`)
  return settled.diagnosis
}
