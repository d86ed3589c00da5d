import { describe, expect, it } from 'vitest'
import type { Settlement } from '../../src/schema/ledger.ts'
import { json, type Piece, reply } from '../support/answers.ts'
import { type Gate, gate } from '../support/gate.ts'
import type { Answer } from '../support/scripted-upstream.ts'
import {
  type BillingScene,
  billingScene,
  DONE,
  expectNothingHeld,
  MESSAGE_STOP,
  messageDelta,
  messageStart,
  nano,
  openaiChunk,
  readUntil,
  textChunk,
  textDelta,
  usageChunk,
} from './billing-scene.ts'
import { CHAT, MESSAGES } from './calls.ts'

/** Of 100 tokens, at 4 bytes each. */
const TEXT = 'x'.repeat(400)
/** What the gateway holds back of an answer in JSON before its client sees a part of it. */
const HELD_BACK_BYTES = 262_144
const LONG_TEXT = 'x'.repeat(400_000)
const QUESTION = { messages: [{ role: 'user', content: 'y'.repeat(400) }] }
const FINISH = openaiChunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })
const EXACT = nano({ fresh: 100, output: 1_000 })

/** How the call is left: what has come of its answer by then, and what is still to come. */
interface Leaving {
  readonly path: string
  readonly stream: boolean
  /** Absent: not even its head. */
  readonly before?: readonly string[]
  readonly after: string
  /** The client has seen so much when it leaves; absent: nothing. */
  readonly seen?: (text: string) => boolean
}

const PLAIN = { path: CHAT, stream: false }
const STREAMED = { path: CHAT, stream: true }
const ANTHROPIC = { path: MESSAGES, stream: true }
const USAGE = '"usage":{"prompt_tokens":100,"completion_tokens":1000}'
const START = messageStart({ input_tokens: 100, output_tokens: 1 })
const CLAUDE_END = messageDelta({ output_tokens: 1_000 }) + MESSAGE_STOP
const hasHead = () => true
const hasText = (text: string) => text.includes('xxxx')

/** `input`: the input estimate. `passed`: with the text that had passed. `exact`: what the upstream reports in the end. */
type Bill = 'input' | 'passed' | 'exact'

const CASES: readonly (readonly [when: string, leaving: Leaving, abort: Bill, drain: Bill])[] = [
  ['before the head, plain', { ...PLAIN, after: `{${USAGE}}` }, 'input', 'exact'],
  ['before the head, streamed', { ...STREAMED, after: usageChunk(100, 1_000) + DONE }, 'input', 'exact'],
  ['before the head, of Anthropic', { ...ANTHROPIC, after: START + CLAUDE_END }, 'input', 'exact'],
  ['before the first byte, plain', { ...PLAIN, before: [], after: `{${USAGE}}` }, 'input', 'exact'],
  [
    'before the first byte, streamed',
    { ...STREAMED, before: [], seen: hasHead, after: usageChunk(100, 1_000) + DONE },
    'input',
    'exact',
  ],
  [
    'before the first byte, of Anthropic',
    { ...ANTHROPIC, before: [], seen: hasHead, after: START + CLAUDE_END },
    'input',
    'exact',
  ],
  [
    'in the middle, plain',
    {
      ...PLAIN,
      before: [`{"choices":[{"text":"${LONG_TEXT}`],
      seen: hasText,
      after: `"}],${USAGE}}`,
    },
    'passed',
    'exact',
  ],
  [
    'in mid stream',
    { ...STREAMED, before: [textChunk(TEXT)], seen: hasText, after: FINISH + usageChunk(100, 1_000) + DONE },
    'passed',
    'exact',
  ],
  [
    'in mid stream, of Anthropic',
    { ...ANTHROPIC, before: [START, textDelta(TEXT)], seen: hasText, after: CLAUDE_END },
    'passed',
    'exact',
  ],
  [
    'between content and usage, plain',
    {
      ...PLAIN,
      before: [`{"choices":[{"text":"${LONG_TEXT}","finish_reason":"stop"}],`],
      seen: hasText,
      after: `${USAGE}}`,
    },
    'exact',
    'exact',
  ],
  [
    'between content and usage, streamed',
    {
      ...STREAMED,
      before: [textChunk(TEXT), FINISH],
      seen: text => text.includes('"finish_reason":"stop"'),
      after: usageChunk(100, 1_000) + DONE,
    },
    'exact',
    'exact',
  ],
  [
    'between content and usage, of Anthropic',
    {
      ...ANTHROPIC,
      before: [START, textDelta(TEXT), messageDelta(null)],
      seen: text => text.includes('end_turn'),
      after: CLAUDE_END,
    },
    'exact',
    'exact',
  ],
  [
    'between usage and the last event',
    {
      ...ANTHROPIC,
      before: [START, textDelta(TEXT), messageDelta({ output_tokens: 1_000 })],
      seen: text => text.includes('end_turn'),
      after: MESSAGE_STOP,
    },
    'exact',
    'exact',
  ],
]

/** Sends the first part of an answer, and the other once the gate is open, whether or not it is read. */
function inTwoParts({ stream, before, after }: Leaving, left: Gate): Answer {
  const pieces: Piece[] = [...(before ?? []), left, after]
  const headers = { 'content-type': stream ? 'text/event-stream' : 'application/json' }
  const answer = reply({ headers, body: before ? pieces : [after], framing: 'chunked' })
  if (before) return answer
  return async exchange => {
    await Promise.race([left.opened, exchange.request.gone])
    await answer(exchange)
  }
}

/** Makes a call and leaves it; resolves when the gateway has heard of that. */
async function leave(
  { call, upstream, gateway }: BillingScene,
  { path, stream, seen }: Leaving,
): Promise<void> {
  const leaving = new AbortController()
  const answer = call(path, { stream, ...QUESTION }, { signal: leaving.signal })
  await upstream.nextRequest()
  if (seen) {
    const got = await answer
    if (seen !== hasHead) await readUntil(got, seen)
    leaving.abort()
  } else {
    leaving.abort()
    await expect(answer).rejects.toThrow('abort')
  }
  await heard(gateway.url)
}

/** One round through the gateway: by then it has heard what happened before. */
async function heard(url: string): Promise<void> {
  const line = await fetch(`${url}/v1/models`)
  expect(line.status).toBe(401)
}

/** The end of the one call; the line of the round behind it is of no interest. */
async function settled(scene: BillingScene): Promise<Settlement> {
  const end = await scene.gateway.ledger.nextEnd()
  if (end.kind !== 'settle') throw new Error(`released: ${end.reason}`)
  await scene.gateway.nextLogged()
  await scene.gateway.nextLogged()
  expectNothingHeld(scene.gateway)
  return end
}

const inputTokensOf = (stream: boolean) =>
  Math.ceil(Buffer.byteLength(JSON.stringify({ model: 'm', stream, ...QUESTION })) / 4)

describe.each(['abort', 'drain'] as const)(
  'money of leavers: with on_disconnect: %s, a call that its client leaves',
  mode => {
    const settings = `{ on_disconnect: ${mode} }`

    it('before dispatch costs nothing: no upstream hears of it', async () => {
      const { gateway, call, upstream, release } = await billingScene({ settings })
      const [written, asked] = [gate(), gate()]
      gateway.ledger.beforeOpen = () => {
        asked.open()
        return written.opened
      }
      const leaving = new AbortController()
      const answer = call(CHAT, QUESTION, { signal: leaving.signal })
      await asked.opened
      leaving.abort()
      await expect(answer).rejects.toThrow('abort')
      await heard(gateway.url)
      await gateway.nextLogged()
      written.open()
      expect(await release()).toMatchObject({ reason: 'client_gone' })
      expect(upstream.requests).toEqual([])
    })

    it.each(CASES)('%s', async (_when, leaving, abort, drain) => {
      const scene = await billingScene({ settings })
      const left = gate()
      scene.upstream.answer(inTwoParts(leaving, left))
      await leave(scene, leaving)
      const expected = mode === 'abort' ? abort : drain
      if (expected === 'exact') left.open()
      else await scene.upstream.lastRequest.gone
      const { amountNano, flags, usage } = await settled(scene)
      if (expected === 'exact')
        return expect({ amountNano, flags }).toEqual({ amountNano: EXACT, flags: ['client_gone'] })
      expect(flags).toEqual(['client_gone', 'estimated'])
      // Anthropic tells its input at the beginning.
      const inputTokens = leaving.before?.includes(START) ? 100 : inputTokensOf(leaving.stream)
      expect(usage.inputTokens).toBe(inputTokens)
      if (expected === 'input') expect(usage.outputTokens).toBe(0)
      else if (leaving.stream) expect(usage.outputTokens).toBe(TEXT.length / 4)
      else {
        // So much has gone to the client; the gateway may have read a little more.
        expect(usage.outputTokens).toBeGreaterThan(HELD_BACK_BYTES / 4)
        expect(usage.outputTokens).toBeLessThanOrEqual(LONG_TEXT.length / 4)
      }
      expect(amountNano).toBe(nano({ fresh: inputTokens, output: usage.outputTokens }))
      return undefined
    })

    it('costs no less than its input: of twenty leavers with credit for two no more reach the upstream than their credit pays for', async () => {
      const body = { messages: [{ role: 'user', content: 'y'.repeat(40_000) }], max_tokens: 10 }
      const lengthBytes = JSON.stringify({ model: 'm', ...body }).length
      const heldNano = nano({ written: Math.ceil(lengthBytes / 3), output: 10 })
      const balanceNano = 2n * heldNano
      const { gateway, upstream, call } = await billingScene({ settings, balanceNano })
      upstream.answer(async exchange => {
        await Promise.race([exchange.request.gone, heard(gateway.url)])
        await json({ usage: { prompt_tokens: 10_000, completion_tokens: 10 } })(exchange)
      })
      for (let leaver = 0; leaver < 20; leaver++) {
        const leaving = new AbortController()
        const reached = upstream.nextRequest().then(() => leaving.abort())
        const ended = gateway.ledger.nextEnd()
        const answer = await call(CHAT, body, { signal: leaving.signal }).catch(() => undefined)
        if (answer) {
          expect(answer.status).toBe(402)
          break
        }
        await reached
        await ended
      }
      const { ends } = gateway.ledger
      const spentNano = ends.reduce((sum, end) => sum + (end.kind === 'settle' ? end.amountNano : 0n), 0n)
      const eachNano =
        mode === 'abort' ? nano({ fresh: Math.ceil(lengthBytes / 4) }) : nano({ fresh: 10_000, output: 10 })
      expect(upstream.requests).toHaveLength(ends.length)
      expect(spentNano).toBe(BigInt(upstream.requests.length) * eachNano)
      expect(spentNano).toBeLessThanOrEqual(balanceNano)
      expect(upstream.requests.length).toBeLessThan(20)
      expect(gateway.limiter.limitStatus(gateway.entryOf('app'))).toMatchObject({
        balance: { balanceNano: balanceNano - spentNano, heldNano: 0n },
      })
    })
  },
)
