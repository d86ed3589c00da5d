import type { Protocol } from '../../schema/endpoint.ts'
import type { ProbedService } from '../probe.ts'
import type { Answer } from './ask.ts'

/** Where an answer's body comes from, by its shape. */
export type Shape = Protocol | 'html' | 'json' | 'other'

/** What of an answer is read. */
type AnswerText = Pick<Answer, 'contentType' | 'body'>

/** What an answer that is no success says of itself. */
export interface UpstreamMessage {
  readonly shape: Shape
  /** `error.type`, `error.code`, `error.param`; empty where there is none. */
  readonly type: string
  readonly code: string
  readonly param: string
  readonly message: string | undefined
}

export function readMessage(answer: AnswerText): UpstreamMessage {
  const json = parsed(answer)
  const error = member(json, 'error')
  const fault = error === undefined || typeof error === 'string' ? json : error
  const message = [error, member(fault, 'message'), member(json, 'detail')].find(isText)
  return {
    shape: shapeOf(answer, json),
    type: text(member(fault, 'type')),
    code: text(member(fault, 'code')),
    param: text(member(fault, 'param')),
    message,
  }
}

/** Whether a 200 is the answer of that service, and not merely some JSON. */
export function isAnswerOf(service: ProbedService, protocol: Protocol, answer: Answer): boolean {
  const json = parsed(answer)
  if (service === 'rerank') return Array.isArray(member(json, 'results'))
  if (service === 'embeddings') return Array.isArray(member(json, 'data'))
  return chatShape(json) === protocol
}

/** The names in a list of models, in its order; undefined where the body is no such list. */
export function listedModels(answer: Answer): readonly string[] | undefined {
  const json = parsed(answer)
  const data = member(json, 'data') ?? json
  if (!Array.isArray(data)) return undefined
  return data.map(entry => member(entry, 'id')).filter(isText)
}

function shapeOf(answer: AnswerText, json: unknown): Shape {
  if (json === undefined) {
    const isHtml = /\bhtml\b/i.test(answer.contentType) || /^\s*<(?:!doctype|html)/i.test(start(answer))
    return isHtml ? 'html' : 'other'
  }
  const error = member(json, 'error')
  if (member(json, 'type') === 'error' && isText(member(error, 'type'))) return 'anthropic'
  const isOpenai = isText(member(error, 'message')) || member(json, 'object') === 'error'
  return chatShape(json) ?? (isOpenai ? 'openai' : 'json')
}

function chatShape(json: unknown): Protocol | undefined {
  if (Array.isArray(member(json, 'choices'))) return 'openai'
  return member(json, 'type') === 'message' && Array.isArray(member(json, 'content'))
    ? 'anthropic'
    : undefined
}

function parsed(answer: AnswerText): unknown {
  try {
    return JSON.parse(answer.body.toString('utf8')) as unknown
  } catch {
    return undefined // no JSON, or more of it than is read
  }
}

function start(answer: AnswerText): string {
  return answer.body.subarray(0, 200).toString('latin1')
}

function member(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
  return (value as Readonly<Record<string, unknown>>)[name]
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
