import { afterAll, describe, expect, it } from 'vitest'
import { CALL_PATHS, type CallPath } from '../../src/schema/paths.ts'
import { verifyLedger } from '../../src/services/ledger.ts'
import { type LedgerRow, readBooks } from '../crash/served.ts'
import { type Piece, reply } from '../support/answers.ts'
import { type Gate, gate } from '../support/gate.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'
import { tempDir } from '../support/temp-dir.ts'
import { whenFolded } from '../support/when-folded.ts'
import { wholeGateway } from '../support/whole-gateway.ts'
import { PATH_CALLS, type PathCall, PRICED_MODELS } from './path-calls.ts'

const upstream = await scriptedUpstream(afterAll)
const dir = tempDir(afterAll)
const base = `base_url: "${upstream.url}/v1", served_model: served, skip_probe: true`
dir.write(
  'gw.yaml',
  `
version: 1
settings: { health: { unhealthy_after: 1000 } }
endpoints:
  oai: { protocol: openai, ${base} }
  ant: { protocol: anthropic, ${base} }
x-bound: &bound [{ endpoint: oai }, { endpoint: ant }]
publications:${PRICED_MODELS}
tenants: { acme: {} }
keys: { app: { kind: tenant, tenant: acme } }
`,
)
const gateway = await wholeGateway(afterAll, dir.path, {}, dir.at('data'))
const secret = await gateway.issue('app')
const database = gateway.store

interface Outcome {
  readonly stream?: boolean
  /** @param begun Opens when the client has the head: until its hold is durable, an error can take the place of the answer. */
  readonly answer: (call: PathCall, begun: Gate) => Parameters<typeof reply>[0]
  /** The client leaves: once the upstream has the request, or once it has a part of the answer. */
  readonly leaves?: 'before' | 'within'
}

const parts = ({ streamed: { contentType } }: PathCall, body: readonly Piece[]) => ({
  headers: { 'content-type': contentType },
  framing: 'chunked' as const,
  body,
})

const OUTCOMES = {
  whole: { answer: ({ whole }) => ({ headers: { 'content-type': whole.contentType }, body: whole.pieces }) },
  streamed: { stream: true, answer: call => parts(call, call.streamed.pieces) },
  rejected: {
    answer: ({ whole }) => ({
      status: 500,
      headers: { 'content-type': 'application/json' },
      body: whole.pieces,
    }),
  },
  'error after the head': {
    stream: true,
    answer: call =>
      call.error === undefined
        ? { ...parts(call, []), ending: 'reset' as const }
        : parts(call, [call.streamed.begin, call.error]),
  },
  'cut off': {
    stream: true,
    answer: (call, begun) => ({ ...parts(call, [call.streamed.begin, begun]), ending: 'cut' as const }),
  },
  'left before the first byte': {
    leaves: 'before',
    answer: call => parts(call, [gate()]),
  },
  'left in the middle': {
    stream: true,
    leaves: 'within',
    answer: call => parts(call, [call.streamed.begin, gate()]),
  },
} as const satisfies Record<string, Outcome>

type OutcomeName = keyof typeof OUTCOMES

const FREE: Readonly<Record<OutcomeName, string>> = {
  whole: 'no row',
  streamed: 'no row',
  rejected: 'no row',
  'error after the head': 'no row',
  'cut off': 'no row',
  'left before the first byte': 'no row',
  'left in the middle': 'no row',
}

/**
 * In nano-units: a token of input costs 1,000 and one of output 10,000; what passed of an answer has 20 tokens. Input that no
 * upstream reported is estimated by its bytes: 4 a token, of recordings 16,000 a second.
 */
const BILLS: Readonly<Record<CallPath, Readonly<Record<OutcomeName, string>>>> = {
  '/v1/chat/completions': {
    whole: 'charged 300000',
    streamed: 'charged 300000',
    rejected: 'released upstream_error',
    'error after the head': 'charged 220000 partial,estimated',
    'cut off': 'charged 220000 partial,estimated',
    'left before the first byte': 'charged 16000 client_gone,estimated',
    'left in the middle': 'charged 220000 client_gone,estimated',
  },
  '/v1/completions': {
    whole: 'charged 300000',
    streamed: 'charged 300000',
    rejected: 'released upstream_error',
    'error after the head': 'charged 212000 partial,estimated',
    'cut off': 'charged 212000 partial,estimated',
    'left before the first byte': 'charged 9000 client_gone,estimated',
    'left in the middle': 'charged 212000 client_gone,estimated',
  },
  '/v1/responses': {
    whole: 'charged 300000',
    streamed: 'charged 300000',
    rejected: 'released upstream_error',
    'error after the head': 'charged 212000 partial,estimated',
    'cut off': 'charged 212000 partial,estimated',
    'left before the first byte': 'charged 8000 client_gone,estimated',
    'left in the middle': 'charged 212000 client_gone,estimated',
  },
  '/v1/responses/compact': {
    whole: 'charged 300000',
    streamed: 'charged 300000',
    rejected: 'released upstream_error',
    'error after the head': 'released upstream_error',
    'cut off': 'charged 208000 partial,estimated',
    'left before the first byte': 'charged 8000 client_gone,estimated',
    'left in the middle': 'charged 208000 client_gone,estimated',
  },
  '/v1/responses/input_tokens': FREE,
  '/v1/embeddings': {
    whole: 'charged 300000',
    streamed: 'charged 300000',
    rejected: 'released upstream_error',
    'error after the head': 'released upstream_error',
    'cut off': 'charged 8000 partial,estimated',
    'left before the first byte': 'charged 8000 client_gone,estimated',
    'left in the middle': 'charged 8000 client_gone,estimated',
  },
  '/v1/rerank': {
    whole: 'charged 300000',
    streamed: 'charged 300000',
    rejected: 'released upstream_error',
    'error after the head': 'released upstream_error',
    'cut off': 'charged 300000 partial,estimated',
    'left before the first byte': 'charged 300000 client_gone,estimated',
    'left in the middle': 'charged 300000 client_gone,estimated',
  },
  '/v1/images/generations': {
    whole: 'charged 300000',
    streamed: 'charged 300000',
    rejected: 'released upstream_error',
    'error after the head': 'charged 0 partial,estimated',
    'cut off': 'charged 0 partial,estimated',
    'left before the first byte': 'charged 0 client_gone,estimated',
    'left in the middle': 'charged 300000 client_gone,estimated',
  },
  '/v1/audio/speech': {
    whole: 'charged 300000',
    streamed: 'charged 300000',
    rejected: 'released upstream_error',
    'error after the head': 'released upstream_error',
    'cut off': 'charged 300000 partial,estimated',
    'left before the first byte': 'charged 300000 client_gone,estimated',
    'left in the middle': 'charged 300000 client_gone,estimated',
  },
  '/v1/images/edits': {
    whole: 'charged 300000',
    streamed: 'charged 300000',
    rejected: 'released upstream_error',
    'error after the head': 'charged 0 partial,estimated',
    'cut off': 'charged 0 partial,estimated',
    'left before the first byte': 'charged 0 client_gone,estimated',
    'left in the middle': 'charged 300000 client_gone,estimated',
  },
  '/v1/audio/transcriptions': {
    whole: 'charged 300000',
    streamed: 'charged 300000',
    rejected: 'released upstream_error',
    'error after the head': 'charged 200000 partial,estimated',
    'cut off': 'charged 200000 partial,estimated',
    'left before the first byte': 'charged 200000 client_gone,estimated',
    'left in the middle': 'charged 200000 client_gone,estimated',
  },
  '/v1/audio/translations': {
    whole: 'charged 300000',
    streamed: 'charged 300000',
    rejected: 'released upstream_error',
    'error after the head': 'released upstream_error',
    'cut off': 'charged 200000 partial,estimated',
    'left before the first byte': 'charged 200000 client_gone,estimated',
    'left in the middle': 'charged 200000 client_gone,estimated',
  },
  '/v1/moderations': {
    whole: 'charged 300000',
    streamed: 'charged 300000',
    rejected: 'released upstream_error',
    'error after the head': 'released upstream_error',
    'cut off': 'charged 300000 partial,estimated',
    'left before the first byte': 'charged 300000 client_gone,estimated',
    'left in the middle': 'charged 300000 client_gone,estimated',
  },
  '/v1/messages': {
    whole: 'charged 300000',
    streamed: 'charged 300000',
    rejected: 'released upstream_error',
    'error after the head': 'charged 300000 partial,estimated',
    'cut off': 'charged 300000 partial,estimated',
    'left before the first byte': 'charged 20000 client_gone,estimated',
    'left in the middle': 'charged 300000 client_gone,estimated',
  },
  '/v1/messages/count_tokens': FREE,
}

/** Makes one call, and gives its end in the ledger: `charged 300000`, with flags, or `released`, with the reason. */
async function billOf(path: CallPath, outcome: Outcome): Promise<string> {
  const call = PATH_CALLS[path]
  const before = new Set((await readBooks(database)).booked.keys())
  upstream.forget()
  const begun = gate()
  upstream.answerNext(reply(outcome.answer(call, begun)))
  const logged = gateway.logged('"msg":"request"')
  const leaving = new AbortController()
  const { contentType, bytes } = call.body(outcome.stream ?? false)
  const answering = fetch(gateway.gatewayUrl + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': contentType },
    body: bytes,
    signal: leaving.signal,
  })
  answering.then(
    () => begun.open(),
    () => undefined,
  )
  if (outcome.leaves === 'before') {
    await upstream.nextRequest()
    leaving.abort()
  }
  await (outcome.leaves === 'within' ? leaveWithin(answering, leaving) : readToEnd(answering))
  await logged
  await whenFolded(database)
  await expect.poll(async () => (await readBooks(database)).open).toBe(0)
  await expect(gateway.inStore(verifyLedger)).resolves.toMatchObject({ openHolds: 0 })
  const rows = [...(await readBooks(database)).booked].filter(([id]) => !before.has(id))
  expect(rows.length).toBeLessThan(2)
  return rows.map(([, { ends }]) => ends.map(shown).join(' and ')).join() || 'no row'
}

function shown({ kind, amountNano, flags, reason }: LedgerRow): string {
  return kind === 'settle' ? `charged ${amountNano} ${flags}`.trim() : `released ${reason}`
}

/** A cut or a departure rejects. */
async function readToEnd(answering: Promise<Response>): Promise<void> {
  await answering.then(answer => answer.arrayBuffer()).catch(() => undefined)
}

async function leaveWithin(answering: Promise<Response>, leaving: AbortController): Promise<void> {
  const reader = (await answering).body?.getReader()
  await reader?.read()
  leaving.abort()
}

describe.each(CALL_PATHS)('the bill of %s', path => {
  it.each(Object.keys(OUTCOMES) as OutcomeName[])('%s', async name => {
    const bill = await billOf(path, OUTCOMES[name])
    expect(bill).toBe(BILLS[path][name])
  })
})
