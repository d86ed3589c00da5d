import { expect } from 'vitest'
import type { TestGateway } from '../support/gateway.ts'
import type { RawAnswer } from './raw-client.ts'

export const CHAT = '/v1/chat/completions'
export const COMPLETIONS = '/v1/completions'
export const IMAGES = '/v1/images/generations'
export const IMAGE_EDITS = '/v1/images/edits'
export const TRANSCRIPTIONS = '/v1/audio/transcriptions'
export const TRANSLATIONS = '/v1/audio/translations'
export const SPEECH = '/v1/audio/speech'
export const MODERATIONS = '/v1/moderations'
export const RESPONSES = '/v1/responses'
export const MESSAGES = '/v1/messages'
export const COUNT_TOKENS = '/v1/messages/count_tokens'
export const EMBEDDINGS = '/v1/embeddings'
export const RERANK = '/v1/rerank'

/** Posts a body with the key `admin`. */
export function post(
  gateway: TestGateway,
  path: string,
  body: string | Uint8Array | object,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const text = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body)
  return fetch(gateway.url + path, {
    method: 'POST',
    body: text,
    redirect: 'manual',
    headers: {
      authorization: `Bearer ${gateway.secretOf('admin')}`,
      'content-type': 'application/json',
      ...headers,
    },
  })
}

export function get(
  gateway: TestGateway,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return fetch(gateway.url + path, {
    headers: { authorization: `Bearer ${gateway.secretOf('admin')}`, ...headers },
  })
}

/** The bytes of a request's head and body, for a raw socket. */
export function rawPost(
  gateway: TestGateway,
  path: string,
  body: string | Uint8Array,
  headerLines: readonly string[] = [],
): Buffer {
  const length = Buffer.byteLength(body)
  return Buffer.concat([
    Buffer.from(rawHead(gateway, path, [`content-length: ${length}`, ...headerLines]), 'latin1'),
    Buffer.from(body as string),
  ])
}

export function rawHead(gateway: TestGateway, path: string, headerLines: readonly string[]): string {
  const lines = [
    `POST ${path} HTTP/1.1`,
    'host: gateway',
    `authorization: Bearer ${gateway.secretOf('admin')}`,
    'content-type: application/json',
    ...headerLines,
  ]
  return `${lines.join('\r\n')}\r\n\r\n`
}

/** One chunk of the chunked transfer encoding. */
export function chunk(content: string | Uint8Array): Buffer {
  const piece = Buffer.from(content as string)
  return Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')])
}

/** The line that the request log has for an answer, as soon as it is written. */
export async function loggedFor(
  gateway: TestGateway,
  answer: Response | RawAnswer,
): Promise<Record<string, unknown>> {
  const id = 'values' in answer ? answer.values('x-request-id')[0] : answer.headers.get('x-request-id')
  for (;;) {
    const line = gateway.logged.find(entry => entry['request_id'] === id)
    if (line) return line
    await gateway.nextLogged()
  }
}

export interface Rejected {
  readonly status: number
  readonly type: string
  /** OpenAI's shape only. */
  readonly code?: string
  readonly param?: string | null
  readonly message?: string | RegExp
}

/** Checks the whole shape of an OpenAI-style error: all four fields and no other, and the request's id. */
export async function expectOpenaiError(answer: Response, expected: Rejected): Promise<void> {
  const text = await answer.text()
  const body = JSON.parse(text) as { error: { message: string } }
  expect(body).toEqual({
    error: {
      message: expect.any(String),
      type: expected.type,
      param: expected.param ?? null,
      code: expected.code,
    },
  })
  expectCommon(answer, expected, body.error.message)
  expect(answer.headers.get('request-id')).toBe(null)
}

/** Checks the whole shape of an Anthropic-style error. */
export async function expectAnthropicError(answer: Response, expected: Rejected): Promise<void> {
  const body = (await answer.json()) as { error: { message: string }; request_id: string }
  expect(body).toEqual({
    type: 'error',
    error: { type: expected.type, message: expect.any(String) },
    request_id: expect.stringMatching(/^req_[0-9a-f]{24}$/),
  })
  expectCommon(answer, expected, body.error.message)
  expect(answer.headers.get('request-id')).toBe(body.request_id)
  expect(answer.headers.get('x-request-id')).toBe(body.request_id)
}

function expectCommon(answer: Response, expected: Rejected, message: string): void {
  expect(answer.status).toBe(expected.status)
  expect(message).not.toBe('')
  if (expected.message !== undefined) expect(message).toMatch(expected.message)
  expect(answer.headers.get('content-type')).toBe('application/json')
  expect(answer.headers.get('x-request-id')).toMatch(/^req_[0-9a-f]{24}$/)
  const wait = answer.headers.get('retry-after')
  if (wait !== null) expect(Number(wait)).toSatisfy((s: number) => Number.isInteger(s) && s >= 1 && s <= 59)
}
