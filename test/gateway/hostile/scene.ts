import { expect } from 'vitest'
import { type Clock, systemClock } from '../../../src/base/clock.ts'
import type { Protocol } from '../../../src/schema/protocol.ts'
import { json } from '../../support/answers.ts'
import { BASIC_SECRETS, basicConfig, type TestGateway, testGateway } from '../../support/gateway.ts'
import { type ScriptedUpstream, scriptedUpstream } from '../../support/scripted-upstream.ts'
import type { WhenOver } from '../../support/when-over.ts'
import { CHAT, MESSAGES } from '../calls.ts'

/** What a client sends that it should not, and what it gets. A new case is a new entry in one of the tables. */
export interface HostileCase {
  readonly title: string
  /** The whole of what the client sends, on the path that is being tried. */
  readonly bytes: (path: string, key: string) => string | Buffer
  readonly status: number
  /** The code in OpenAI's shape. */
  readonly code: string
  /** The field that is named, in OpenAI's shape. */
  readonly param?: string
  /** The connection ends behind the answer; otherwise the next request on it is served. */
  readonly closes: boolean
  /** The path cannot be read from the bytes, so the answer has the general shape. */
  readonly pathless?: true
}

export const BODY = '{"model":"ext-both"}'

export interface Said {
  readonly method?: string
  readonly version?: string
  /** Absent: one `Host` line. */
  readonly hosts?: readonly string[]
  readonly lines?: readonly string[]
  /** Framed by `content-length` unless `lines` frame it. */
  readonly body?: string | Buffer
  readonly framed?: false
}

/** The bytes of one request. */
export function saying(path: string, key: string, said: Said = {}): Buffer {
  const { method = 'POST', version = 'HTTP/1.1', hosts = ['gateway'], lines = [], body = BODY } = said
  const head = [
    `${method} ${path} ${version}`,
    ...hosts.map(host => `host: ${host}`),
    `authorization: Bearer ${key}`,
    ...(said.framed === false ? [] : [`content-length: ${Buffer.byteLength(body)}`]),
    ...lines,
  ]
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), Buffer.from(body as string)])
}

/** A chunked request with these bytes behind its head. */
export function chunked(path: string, key: string, bytes: string, lines: readonly string[] = []): Buffer {
  return saying(path, key, { framed: false, lines: ['transfer-encoding: chunked', ...lines], body: bytes })
}

export const PATHS: readonly (readonly [string, Protocol])[] = [
  [CHAT, 'openai'],
  [MESSAGES, 'anthropic'],
]

const STATUS_TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  404: 'not_found_error',
  413: 'request_too_large',
}

/** The body of a rejection, whole. */
export function rejection({ status, code, param }: HostileCase, protocol: Protocol): unknown {
  const message = expect.stringMatching(/./) as unknown
  return protocol === 'openai'
    ? { error: { message, type: 'invalid_request_error', param: param ?? null, code } }
    : {
        type: 'error',
        error: { type: STATUS_TYPES[status] ?? 'invalid_request_error', message },
        request_id: expect.stringMatching(/^req_/) as unknown,
      }
}

export interface Scene {
  readonly gateway: TestGateway
  readonly upstream: ScriptedUpstream
  /** Of a tenant's key with a limit of each kind. */
  readonly key: string
  /** Nothing has reached an upstream, been held, billed, logged as a call, or counted against a limit. */
  readonly expectUntouched: () => void
}

const LIMITS = 'limits: { rpm: 60, tpm: 100000, concurrency: 4 }, quota: 1000000'

export async function hostileScene(whenOver: WhenOver, clock: Clock = systemClock): Promise<Scene> {
  const upstream = await scriptedUpstream(whenOver)
  upstream.answer(json('{"model":"x"}'))
  const yaml = basicConfig(upstream.url).replace('tenant: acme }', `tenant: acme, ${LIMITS} }`)
  const gateway = await testGateway(whenOver, yaml, { secrets: BASIC_SECRETS, clock })
  const rates = () => gateway.limiter.rateHeaders('openai', gateway.entryOf('app'), 'inference')
  const untouched = rates()
  return {
    gateway,
    upstream,
    key: gateway.secretOf('app'),
    expectUntouched() {
      expect(upstream.connectionsMade).toBe(0)
      const { holds, ends, calls } = gateway.ledger
      expect([holds, ends, calls]).toEqual([[], [], []])
      expect(rates()).toEqual(untouched)
    },
  }
}
