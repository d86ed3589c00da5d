import { expect, onTestFinished } from 'vitest'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import type { HoldEnd, Release, Settlement } from '../../src/schema/ledger.ts'
import { type TestGateway, type TestGatewayOptions, testGateway } from '../support/gateway.ts'
import { type ScriptedUpstream, scriptedUpstream } from '../support/scripted-upstream.ts'

/** Nano-units for a token of each class: the prices below. */
const NANO = { fresh: 1_000, cached: 500, written: 2_000, output: 10_000 } as const
const BALANCE_NANO = 10n ** 15n

export interface Priced {
  readonly fresh?: number
  readonly cached?: number
  readonly written?: number
  readonly output?: number
}

/** What so many tokens of each class cost. */
export function nano(tokens: Priced): bigint {
  const { fresh = 0, cached = 0, written = 0, output = 0 } = tokens
  return BigInt(fresh * NANO.fresh + cached * NANO.cached + written * NANO.written + output * NANO.output)
}

export interface BillingScene {
  readonly upstream: ScriptedUpstream
  readonly gateway: TestGateway
  /** Posts a body with the key `app`, which has a limit of every kind. */
  readonly call: (path: string, body: object, init?: RequestInit) => Promise<Response>
  /** The end of the one request that there was, after everything that was held has been checked to be free again. */
  readonly settlement: () => Promise<Settlement>
  readonly release: () => Promise<Release>
}

/**
 * A gateway with a price for everything, a key with every limit, and an upstream of its own.
 *
 * @param more `publication` adds fields to the model `m`; `price` is that of the model `own`.
 */
export async function billingScene(
  more: {
    settings?: string
    publication?: string
    price?: string
    upstreamUrl?: string
  } & TestGatewayOptions = {},
): Promise<BillingScene> {
  const { settings = '{}', publication = '', price = '{}', upstreamUrl, ...options } = more
  const upstream = await scriptedUpstream(onTestFinished)
  const base = `base_url: "${upstreamUrl ?? upstream.url}/v1", served_model: served`
  const yaml = `
version: 1
settings: ${settings}
endpoints:
  oai: { protocol: openai, ${base} }
  ant: { protocol: anthropic, ${base} }
x-bound: &bound [{ endpoint: oai }, { endpoint: ant }]
publications:
  m: { price: { input: "1", output: "10", cached_input: "0.5", cache_write: "2" }, bindings: *bound, ${publication} }
  ranked: { price: { per_search_unit: "0.002" }, bindings: *bound }
  flat: { price: { input: "1", per_request: "0.01" }, bindings: *bound }
  unpriced: { bindings: *bound }
  own: { price: ${price}, bindings: *bound }
tenants:
  acme: { billing: prepaid, limits: { rpm: 10000, tpm: 100000000, concurrency: 200 } }
keys:
  app:
    kind: tenant
    tenant: acme
    limits: { rpm: 10000, tpm: 100000000, concurrency: 200 }
    quota: 1000000000
    budget: { amount: "100000", per: total }
`
  const gateway = await testGateway(onTestFinished, yaml, { balanceNano: BALANCE_NANO, ...options })

  const ended = async (): Promise<HoldEnd> => {
    const end = await gateway.ledger.nextEnd()
    await gateway.nextLogged()
    expect(gateway.ledger.ends).toEqual([end])
    expect(gateway.ledger.holds).toHaveLength(1)
    const [hold] = gateway.ledger.holds
    expect({ ...hold }).toMatchObject({ ...claimOf(end) })
    expectNothingHeld(gateway)
    const spent = end.kind === 'settle' ? end.amountNano : 0n
    const tokens = end.kind === 'settle' ? end.usage.inputTokens + end.usage.outputTokens : 0
    expect(gateway.limiter.limitStatus(gateway.entryOf('app'))).toMatchObject({
      quota: { spent: tokens },
      budget: { spentNano: spent },
      balance: { balanceNano: BALANCE_NANO - spent },
    })
    return end
  }
  return {
    upstream,
    gateway,
    call: (path, body, init = {}) =>
      fetch(gateway.url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${gateway.secretOf('app')}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'm', ...body }),
        ...init,
      }),
    settlement: async () => {
      const end = await ended()
      if (end.kind !== 'settle') throw new Error(`released: ${end.reason}`)
      return end
    },
    release: async () => {
      const end = await ended()
      if (end.kind !== 'release') throw new Error(`settled at ${end.amountNano}`)
      return end
    },
  }
}

/** Every gauge of the limits is where it was before the first request. */
export function expectNothingHeld(gateway: TestGateway): void {
  const { limiter, ledger } = gateway
  expect(ledger.openHolds).toEqual([])
  expect([limiter.openHolds, limiter.openReservations]).toEqual([0, 0])
  const entry = gateway.entryOf('app')
  expect(limiter.limitStatus(entry)).toMatchObject({
    quota: { held: 0 },
    budget: { heldNano: 0n },
    balance: { heldNano: 0n },
  })
}

function claimOf({ requestId, attempt, key, tenant, publication, endpoint }: HoldEnd) {
  return { requestId, attempt, key, tenant, publication, endpoint }
}

/** Reads an answer until `enough` of it has come; the client is still there then. */
export async function readUntil(answer: Response, enough: (text: string) => boolean): Promise<string> {
  const reader = answer.body?.getReader()
  const decoder = new TextDecoder()
  let text = ''
  for (;;) {
    const piece = await reader?.read()
    if (!piece || piece.done) return text
    text += decoder.decode(piece.value, { stream: true })
    if (enough(text)) return text
  }
}

/** The events that streams are made of. */
export const openaiChunk = (more: object): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', model: 'served', choices: [{ index: 0, delta: {} }], ...more })}\n\n`
export const textChunk = (content: string): string =>
  openaiChunk({ choices: [{ index: 0, delta: { content } }] })
export const usageChunk = (prompt: unknown, completion: unknown): string =>
  openaiChunk({ choices: [], usage: { prompt_tokens: prompt, completion_tokens: completion } })
export const DONE = 'data: [DONE]\n\n'

const anthropicEvent = (type: string, more: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`
export const messageStart = (usage?: object): string =>
  anthropicEvent('message_start', { message: { id: 'msg', model: 'served', ...(usage && { usage }) } })
export const textDelta = (text: string): string =>
  anthropicEvent('content_block_delta', { index: 0, delta: { type: 'text_delta', text } })
export const messageDelta = (usage: object | null): string =>
  anthropicEvent('message_delta', { delta: { stop_reason: 'end_turn' }, usage })
export const MESSAGE_STOP = anthropicEvent('message_stop')

/** The system's clock, on which waits of so long end when the test says. */
export function clockWithout(waitMs: number): { clock: Clock; fire: () => Promise<void> } {
  let caught: (task: () => void) => void = () => undefined
  const task = new Promise<() => void>(resolve => {
    caught = resolve
  })
  const clock: Clock = {
    ...systemClock,
    after(ms, run) {
      if (ms !== waitMs) return systemClock.after(ms, run)
      caught(run)
      return { cancel: () => undefined }
    },
  }
  return { clock, fire: async () => (await task)() }
}
