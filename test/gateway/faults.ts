import { bytes, json, reply, reset } from '../support/answers.ts'
import type { Answer } from '../support/scripted-upstream.ts'

/** What upstreams do wrong (spec/security.md §4), and what clients see of it. */
export interface Fault {
  readonly title: string
  readonly answer: Answer
  readonly status: number
  readonly openai: readonly [type: string, code: string]
  readonly anthropic: string
  readonly message?: RegExp
  readonly retryAfter?: string
  readonly shouldRetry?: string
  /** Another endpoint is not asked: the request is at fault, or the answer had begun. */
  readonly isFinal?: boolean
}

/** What an upstream says when it rejects: nothing of it may reach a client. */
const SECRETIVE = { error: { message: 'Incorrect API key provided: sk-upstream-openai', code: 'leak' } }
const rejecting = (status: number, headers: Record<string, string> = {}): Answer =>
  json(SECRETIVE, { status, headers: { 'x-should-retry': 'true', ...headers } })

const broken = { status: 502, openai: ['server_error', 'upstream_error'], anthropic: 'api_error' } as const
const credentials = {
  status: 502,
  openai: ['server_error', 'upstream_credentials'],
  anthropic: 'api_error',
  message: /The endpoint (oai|ant) rejected the gateway’s own credential/,
  shouldRetry: 'false',
} as const
const unpaid = {
  ...credentials,
  message:
    /^The gateway’s account at the endpoint (oai|ant) has nothing left to spend \(\d+\); your key is fine\.$/,
} as const
const limited = {
  status: 429,
  openai: ['requests', 'upstream_rate_limited'],
  anthropic: 'rate_limit_error',
} as const
const overloaded = {
  status: 503,
  openai: ['server_error', 'unavailable'],
  anthropic: 'overloaded_error',
} as const

export const FAULTS: readonly Fault[] = [
  { title: 'a 401', answer: rejecting(401), ...credentials },
  { title: 'a 402', answer: rejecting(402), ...unpaid },
  { title: 'a 403', answer: rejecting(403), ...credentials },
  {
    title: 'a 404',
    answer: rejecting(404),
    status: 502,
    openai: ['server_error', 'upstream_not_found'],
    anthropic: 'api_error',
    message: /The endpoint (oai|ant) does not know the path or the model/,
    shouldRetry: 'false',
  },
  {
    title: 'a 429 for an account without money, as OpenAI says it',
    answer: json(
      {
        error: {
          message: 'You exceeded your current quota, please check your plan and billing details.',
          type: 'insufficient_quota',
          param: null,
          code: 'insufficient_quota',
        },
      },
      { status: 429, headers: { 'retry-after': '20' } },
    ),
    ...unpaid,
  },
  {
    title: 'a 429 for an account without money, as others say it',
    answer: json({ error: { message: 'You exceeded your current quota.' } }, { status: 429 }),
    ...unpaid,
  },
  {
    title: 'a 400 for an account without money, as Anthropic says it',
    answer: json(
      {
        type: 'error',
        error: {
          type: 'invalid_request_error',
          message: 'Your credit balance is too low to access the API.',
        },
      },
      { status: 400 },
    ),
    ...unpaid,
  },
  {
    title: 'a 403 for an account without money, as relays say it',
    answer: json({ error: { code: 'insufficient_user_quota', message: 'x' } }, { status: 403 }),
    ...unpaid,
  },
  { title: 'a 429', answer: rejecting(429), ...limited, retryAfter: '1' },
  {
    title: 'a 429 for a quota that refills each minute, as Gemini says it',
    answer: json(
      {
        error: {
          message:
            'You exceeded your current quota, please check your plan and billing details. Please retry in 7s.',
          status: 'RESOURCE_EXHAUSTED',
        },
      },
      { status: 429 },
    ),
    ...limited,
    retryAfter: '1',
  },
  {
    title: 'a 429 with a body of 100 KB',
    answer: json(`{"error":"${'x'.repeat(100_000)}"}`, { status: 429 }),
    ...limited,
    retryAfter: '1',
  },
  {
    title: 'a 429 that breaks off',
    answer: json('{"error":{"message":"You exceeded your current', {
      status: 429,
      framing: 'chunked',
      ending: 'reset',
    }),
    ...limited,
    retryAfter: '1',
  },
  {
    title: 'a 429 that asks for 7 s',
    answer: rejecting(429, { 'retry-after': '7' }),
    ...limited,
    retryAfter: '7',
  },
  {
    title: 'a 429 that asks for a day',
    answer: rejecting(429, { 'Retry-After': '86400' }),
    ...limited,
    retryAfter: '59',
  },
  {
    title: 'a 429 that asks for nonsense',
    answer: rejecting(429, { 'retry-after': '-3' }),
    ...limited,
    retryAfter: '1',
  },
  { title: 'a 405', answer: rejecting(405), ...broken, shouldRetry: 'false', isFinal: true },
  { title: 'a 408', answer: rejecting(408), ...broken, isFinal: true },
  { title: 'a 415', answer: rejecting(415), ...broken, shouldRetry: 'false', isFinal: true },
  { title: 'a 425', answer: rejecting(425), ...broken, isFinal: true },
  { title: 'a 500', answer: rejecting(500), ...broken },
  { title: 'a 502', answer: rejecting(502), ...broken },
  { title: 'a 503', answer: rejecting(503, { 'retry-after': '9' }), ...overloaded, retryAfter: '9' },
  { title: 'a 504', answer: rejecting(504), ...broken },
  { title: 'a 529', answer: rejecting(529, { 'retry-after': '600' }), ...overloaded, retryAfter: '59' },
  { title: 'a 599', answer: rejecting(599), ...broken },
  {
    title: 'a redirect',
    answer: reply({ status: 307, headers: { location: 'http://127.0.0.1:9/elsewhere' } }),
    ...broken,
  },
  { title: 'a 304', answer: bytes('HTTP/1.1 304 Not Modified\r\n\r\n'), ...broken },
  { title: 'a 204', answer: bytes('HTTP/1.1 204 No Content\r\n\r\n'), ...broken },
  {
    title: 'a page of HTML',
    answer: reply({ headers: { 'content-type': 'text/html' }, body: '<html>Welcome to nginx' }),
    ...broken,
  },
  { title: 'an answer without a content-type', answer: reply({ body: '{"model":"x"}' }), ...broken },
  {
    title: 'an answer in an unknown coding',
    answer: reply({
      headers: { 'content-type': 'application/json', 'content-encoding': 'compress' },
      body: '{"model":"x"}',
    }),
    ...broken,
  },
  {
    title: 'an answer in gzip that is none',
    answer: reply({
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      body: '{"model":"x"}',
    }),
    ...broken,
    isFinal: true,
  },
  { title: 'JSON that is no object', answer: json('[1]'), ...broken, isFinal: true },
  { title: 'JSON that is none', answer: json('{"model":"x"} trailing'), ...broken, isFinal: true },
  { title: 'JSON that ends too early', answer: json('{"model":"x"'), ...broken, isFinal: true },
  { title: 'a reset before the head', answer: reset, ...broken },
  { title: 'an end before the head', answer: exchange => exchange.end(), ...broken },
  { title: 'a cut inside the head', answer: bytes('HTTP/1.1 200 OK\r\ncontent-ty', 'end'), ...broken },
  { title: 'garbage instead of a head', answer: bytes('SSH-2.0-OpenSSH_9.6\r\n'), ...broken },
  { title: 'the status 099', answer: bytes('HTTP/1.1 099 Odd\r\ncontent-length: 0\r\n\r\n'), ...broken },
  {
    title: 'two content-lengths',
    answer: bytes('HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}\n'),
    ...broken,
  },
  {
    title: 'headers without an end',
    answer: bytes(`HTTP/1.1 200 OK\r\n${'x-filler: 0123456789abcdef\r\n'.repeat(4_000)}`, 'hang'),
    ...broken,
  },
  {
    title: 'a switch of protocols',
    answer: bytes('HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n'),
    ...broken,
  },
  {
    title: 'a body shorter than its content-length',
    answer: reply({
      headers: { 'content-type': 'application/json', 'content-length': '99' },
      body: '{"model":"x"}',
      framing: 'close',
    }),
    ...broken,
    isFinal: true,
  },
  {
    title: 'a chunk that is none',
    answer: bytes(
      'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n7\r\n{"a":1,\r\nZZ\r\n',
    ),
    ...broken,
    isFinal: true,
  },
  {
    title: 'a reset inside a body',
    answer: json('{"model":"x","choices":[', { framing: 'chunked', ending: 'reset' }),
    ...broken,
    isFinal: true,
  },
  {
    title: 'an event stream that is empty',
    answer: reply({ headers: { 'content-type': 'text/event-stream' } }),
    ...broken,
    isFinal: true,
  },
]
