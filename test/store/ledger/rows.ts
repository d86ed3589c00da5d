import type {
  CallRecord,
  Hold,
  RejectedCall,
  Release,
  Settlement,
  Usage,
} from '../../../src/schema/ledger.ts'

/** A moment in the tests' year, at the start of a quarter of an hour. */
export const NOON_MS = Date.UTC(2026, 0, 15, 12)

const USAGE: Usage = {
  inputTokens: 100,
  cachedInputTokens: 20,
  cacheWriteTokens: 5,
  outputTokens: 300,
  searchUnits: 0,
  durationMs: 0,
  characters: 0,
  images: 0,
}

const CLAIM = { attempt: 1, key: 'app', tenant: 'acme', publication: 'gpt', endpoint: 'east' }

export function hold(requestId: string, more: Partial<Hold> = {}): Hold {
  return {
    ...CLAIM,
    requestId,
    openedAtMs: NOON_MS,
    deadlineMs: NOON_MS + 60_000,
    amountNano: 900n,
    tokens: 500,
    inputTokens: 110,
    inputAmountNano: 110n,
    ...more,
  }
}

export function settle(requestId: string, more: Partial<Settlement> = {}): Settlement {
  return {
    ...CLAIM,
    kind: 'settle',
    requestId,
    endedAtMs: NOON_MS + 1_000,
    amountNano: 400n,
    usage: USAGE,
    flags: [],
    ...more,
  }
}

export function release(requestId: string, more: Partial<Release> = {}): Release {
  return {
    ...CLAIM,
    kind: 'release',
    requestId,
    endedAtMs: NOON_MS + 1_000,
    reason: 'upstream_error',
    ...more,
  }
}

export function call(requestId: string, more: Partial<CallRecord> = {}): CallRecord {
  return {
    requestId,
    atMs: NOON_MS,
    key: 'app',
    tenant: 'acme',
    publication: 'gpt',
    endpoint: 'east',
    protocol: 'openai',
    path: '/v1/chat/completions',
    status: 200,
    stream: true,
    outcome: 'answered',
    usage: USAGE,
    amountNano: 400n,
    flags: [],
    latencyMs: 120,
    firstByteMs: 30,
    attempts: 1,
    ...more,
  }
}

/** A call that was rejected before dispatch. */
export function rejected(requestId: string, more: Partial<RejectedCall> = {}): RejectedCall {
  return {
    requestId,
    atMs: NOON_MS,
    protocol: 'openai',
    path: '/v1/chat/completions',
    status: 404,
    errorCode: 'model_not_found',
    message: 'The model `nope` does not exist, or is not listed.',
    count: 1,
    ...more,
  }
}
