import type { Protocol } from '../../schema/endpoint.ts'
import type { ProbedService } from '../probe.ts'
import type { Answer } from './ask.ts'

/** The kind of an answer's body. */
export type Shape = Protocol | 'html' | 'json' | 'other'

/** The parts of an answer that are read. */
type AnswerText = Pick<Answer, 'contentType' | 'body'>

/** The error of an answer. */
export interface UpstreamMessage {
  readonly shape: Shape
  /** `error.type`, `error.code`, `error.param`; empty if absent. */
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

/** Whether a 200 has the JSON shape of that service. */
export function isAnswerOf(service: ProbedService, protocol: Protocol, answer: Answer): boolean {
  const json = parsed(answer)
  if (service === 'rerank') return Array.isArray(member(json, 'results'))
  if (service === 'embeddings') return Array.isArray(member(json, 'data'))
  return chatShape(json) === protocol
}

/** The names in a list of models, in its order; undefined if the body is not such a list. */
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
    return undefined // invalid or truncated
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
