import { afterAll, afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { keyDigest } from '../../src/base/api-key.ts'
import { json } from '../support/answers.ts'
import { testGateway } from '../support/gateway.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'
import { testClock } from '../support/test-clock.ts'
import { CHAT, loggedFor, MESSAGES } from './calls.ts'
import { rawClient } from './raw-client.ts'

const OWN = 'my-own-key-from-elsewhere'
const REFERENCED = 'another key, of any shape'
/** Shaped like ours, its checksum wrong: in the configuration by its hash, and still never accepted. */
const MISTYPED = `gw_${'a'.repeat(40)}000000`

const clock = testClock(Date.parse('2026-06-01T00:00:00Z'))
const upstream = await scriptedUpstream(afterAll)
const gateway = await testGateway(
  afterAll,
  `
version: 1
endpoints:
  oai: { protocol: openai, base_url: "${upstream.url}", served_model: x }
  ant: { protocol: anthropic, base_url: "${upstream.url}", served_model: x }
publications:
  chat: { bindings: [{ endpoint: oai }, { endpoint: ant }] }
keys:
  admin: { kind: platform }
  other: { kind: platform }
  off: { kind: platform, enabled: false }
  old: { kind: platform, expires_at: 2026-06-01T00:00:00Z }
  ending: { kind: platform, expires_at: 2026-06-01T00:00:01Z }
  own: { kind: platform, hash: "sha256:${keyDigest(OWN)}" }
  referenced: { kind: platform, secret: { env: KEY } }
  mistyped: { kind: platform, hash: "sha256:${keyDigest(MISTYPED)}" }
`,
  { secrets: { KEY: REFERENCED }, clock },
)
beforeEach(() => {
  upstream.forget()
  upstream.answer(json('{"model":"x"}'))
})

const secret = (key: string) => gateway.secretOf(key)
/** One character of the checksum changed. */
const typo = (key: string) => secret(key).replace(/.$/, last => (last === 'a' ? 'b' : 'a'))

async function ask(lines: readonly string[], path = CHAT) {
  const client = await rawClient(onTestFinished, gateway.url)
  const body = '{"model":"chat"}'
  await client.write(
    [`POST ${path} HTTP/1.1`, 'host: x', `content-length: ${body.length}`, ...lines, '', body].join('\r\n'),
  )
  const answer = await client.answer()
  return { answer, line: await loggedFor(gateway, answer) }
}

describe('a key', () => {
  it.each<[string, () => string[], string]>([
    ['as a bearer', () => [`Authorization: Bearer ${secret('admin')}`], 'admin'],
    [
      'as a bearer in any letter case, with spaces',
      () => [`authorization: bEARER   ${secret('admin')}  `],
      'admin',
    ],
    ['as x-api-key', () => [`X-Api-Key: ${secret('admin')}`], 'admin'],
    [
      'twice the same',
      () => [`authorization: Bearer ${secret('admin')}`, `x-api-key: ${secret('admin')}`],
      'admin',
    ],
    [
      'beside another client’s',
      () => [`authorization: Bearer sk-ant-foreign`, `x-api-key: ${secret('admin')}`],
      'admin',
    ],
    ['beside another scheme', () => ['authorization: Basic dTpw', `x-api-key: ${secret('admin')}`], 'admin'],
    ['beside an empty one', () => [`authorization: Bearer ${secret('admin')}`, 'x-api-key:'], 'admin'],
    ['that was brought along by its hash', () => [`x-api-key: ${OWN}`], 'own'],
    ['that was brought along by reference', () => [`x-api-key: ${REFERENCED}`], 'referenced'],
    ['a moment before it expires', () => [`x-api-key: ${secret('ending')}`], 'ending'],
  ])('is known %s', async (_title, lines, key) => {
    for (const path of [CHAT, MESSAGES]) {
      const { answer, line } = await ask(lines(), path)
      expect(answer.status).toBe(200)
      expect(line).toMatchObject({ key })
    }
    for (const request of upstream.requests) {
      expect(request.head.toString('latin1')).not.toMatch(/authorization|x-api-key/i)
      for (const shown of [secret('admin'), OWN, REFERENCED, 'sk-ant-foreign', 'dTpw'])
        expect(request.head.toString('latin1')).not.toContain(shown)
    }
  })

  it('expires to the millisecond', async () => {
    clock.advance(1_000)
    const { answer, line } = await ask([`x-api-key: ${secret('ending')}`])
    expect(answer.status).toBe(401)
    expect(line).toMatchObject({ reason: 'key ending has expired' })
  })
})

describe('no call is admitted', () => {
  afterEach(() => expect(upstream.requests).toEqual([]))

  it.each<[string, () => string[], string]>([
    ['without a key', () => [], 'key absent'],
    ['with an empty key', () => ['authorization: Bearer ', 'x-api-key: '], 'key absent'],
    ['with a key without a scheme', () => [`authorization: ${secret('admin')}`], 'key absent'],
    ['with two words behind Bearer', () => [`authorization: Bearer ${secret('admin')} x`], 'key absent'],
    ['with a foreign key', () => ['authorization: Bearer sk-123456789012345678901234'], 'key foreign'],
    ['with a key that is far too long', () => [`x-api-key: ${'k'.repeat(5_000)}`], 'key foreign'],
    ['with an unknown key', () => [`x-api-key: gw_unknown`], 'key unknown'],
    ['with a typo', () => [`x-api-key: ${typo('admin')}`], 'key mistyped'],
    [
      'with a typo that is in the configuration by its hash',
      () => [`x-api-key: ${MISTYPED}`],
      'key mistyped',
    ],
    ['with a disabled key', () => [`x-api-key: ${secret('off')}`], 'key off is disabled'],
    ['with an expired key', () => [`x-api-key: ${secret('old')}`], 'key old has expired'],
    [
      'with two keys of ours',
      () => [`authorization: Bearer ${secret('admin')}`, `x-api-key: ${secret('other')}`],
      'two keys at once: admin and other',
    ],
    [
      'with a key of ours beside an unknown one',
      () => [`authorization: Bearer gw_unknown`, `x-api-key: ${secret('other')}`],
      'key other beside another, unknown',
    ],
    [
      'with a key of ours beside a mistyped one',
      () => [`authorization: Bearer ${secret('other')}`, `x-api-key: ${typo('admin')}`],
      'key other beside another, mistyped',
    ],
    [
      'with two authorization lines, even of one key',
      () => [`authorization: Bearer ${secret('admin')}`, `Authorization: Bearer ${secret('admin')}`],
      'two authorization lines',
    ],
    [
      'with two x-api-key lines, the second empty',
      () => [`x-api-key: ${secret('admin')}`, 'X-API-KEY:'],
      'two x-api-key lines',
    ],
    ['with the digest instead of the key', () => [`x-api-key: ${keyDigest(secret('admin'))}`], 'key foreign'],
    ['with a key in the query or a cookie', () => [`cookie: key=${secret('admin')}`], 'key absent'],
  ])(
    '%s, with one constant body for a key and one for none; the log says why',
    async (_title, lines, reason) => {
      const { answer, line } = await ask(lines())
      expect(answer.status).toBe(401)
      expect(answer.text()).toBe(
        reason === 'key absent'
          ? '{"error":{"message":"No API key: send `Authorization: Bearer` and the key, or the key as `x-api-key`.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}'
          : '{"error":{"message":"Incorrect API key provided.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}',
      )
      expect(answer.values('www-authenticate')).toEqual([])
      expect(line).toMatchObject({ reason, error_code: 'invalid_api_key' })
      expect(JSON.stringify(line)).not.toContain(secret('admin'))
    },
  )
})
