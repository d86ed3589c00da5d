import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createLog } from '../../src/base/log.ts'
import { logRequest, type RequestRecord } from '../../src/metering/request-log.ts'
import { usageOf } from '../../src/schema/ledger.ts'

function lineOf(record: RequestRecord): Record<string, unknown> {
  let written = ''
  const log = createLog(
    { write: line => void (written += line) },
    { level: 'info', pretty: false, colour: false },
  )
  logRequest(log, record)
  expect(written.indexOf('\n')).toBe(written.length - 1)
  return JSON.parse(written) as Record<string, unknown>
}

const BARE: RequestRecord = {
  requestId: 'req_1',
  method: 'POST',
  path: '/v1/chat/completions',
  protocol: 'openai',
  outcome: 'rejected',
  status: 401,
  latencyMs: 1.4,
}

test('the line of a request has what is known of it, and nothing else', () => {
  const { time: _time, ...line } = lineOf(BARE)
  expect(line).toEqual({
    level: 'info',
    request_id: 'req_1',
    method: 'POST',
    path: '/v1/chat/completions',
    outcome: 'rejected',
    status: 401,
    latency_ms: 1,
    msg: 'request',
  })
})

test('a charge is written with its tokens, its cost as a decimal, and its flags', () => {
  const usage = {
    inputTokens: 5,
    cachedInputTokens: 1,
    cacheWriteTokens: 2,
    outputTokens: 3,
    searchUnits: 4,
    durationMs: 0,
    characters: 0,
    images: 0,
  }
  expect(
    lineOf({ ...BARE, charge: { usage, amountNano: 1_500_000_000n, flags: ['partial'] } }),
  ).toMatchObject({
    input_tokens: 5,
    cached_input_tokens: 1,
    cache_write_tokens: 2,
    output_tokens: 3,
    search_units: 4,
    cost: '1.5',
    flags: ['partial'],
  })
})

test('audio, characters and images are written for paths that have them', () => {
  const charge = { usage: usageOf({ durationMs: 1_500, images: 2 }), amountNano: 1n, flags: [] }
  expect(lineOf({ ...BARE, charge })).toMatchObject({
    duration_ms: 1_500,
    characters: 0,
    images: 2,
    cost: '0.000000001',
  })
  expect(lineOf({ ...BARE, charge: { ...charge, usage: usageOf({}) } })).not.toHaveProperty('duration_ms')
})

test('attempts that failed are named with their reasons', () => {
  const attempts = [
    { endpoint: 'one', errorCode: 'upstream_error', reason: 'one: ECONNREFUSED' },
    { endpoint: 'one', errorCode: 'upstream_timeout' },
    { endpoint: 'two' },
  ]
  expect(lineOf({ ...BARE, endpoint: 'two', attempts })).toMatchObject({
    attempts: 3,
    failed_attempts: ['one: upstream_error (ECONNREFUSED)', 'one: upstream_timeout'],
  })
})

test('a bug of ours is an error with its cause', () => {
  const cause = new Error('no such thing')
  expect(lineOf({ ...BARE, errorCode: 'internal_error', cause, stream: true })).toMatchObject({
    level: 'error',
    request_id: 'req_1',
    stream: true,
    err: { message: 'no such thing' },
  })
})

test('whatever stands in a name or a path, the line stays one JSON object', () => {
  const anyText = fc.string({ unit: 'binary' })
  fc.assert(
    fc.property(anyText, anyText, anyText, (path, model, reason) => {
      expect(
        lineOf({ ...BARE, path, model, reason, key: model, endpoint: model, tenant: model }),
      ).toMatchObject({
        path,
        model,
        reason,
      })
    }),
  )
})
