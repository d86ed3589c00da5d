import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { type Charge, chargeFor, type RequestEnd } from '../../src/metering/charge.ts'
import type { Price, Usage } from '../../src/schema/ledger.ts'

/** 1 a token of input, 2 a token of output. */
const PRICE: Price = {
  inputNanoPerMtok: 1_000_000n,
  outputNanoPerMtok: 2_000_000n,
  cachedInputNanoPerMtok: 1_000_000n,
  cacheWriteNanoPerMtok: 1_000_000n,
  requestNano: 0n,
  searchUnitNano: 0n,
  secondNano: 0n,
  characterNano: 0n,
  imageNano: 0n,
}
const EXACT: Usage = {
  inputTokens: 70,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 9,
  searchUnits: 0,
  durationMs: 0,
  characters: 0,
  images: 0,
}
const ZERO: Usage = { ...EXACT, inputTokens: 0, outputTokens: 0 }
const INPUT_ESTIMATE: Usage = { ...EXACT, inputTokens: 50, outputTokens: 0 }
const ESTIMATE: Usage = { ...EXACT, inputTokens: 50, outputTokens: 5 }

const REPORTED = {
  reported: EXACT,
  isFinal: true,
  textBytes: 20,
  inputTokens: 50,
  characters: 0,
  images: 0,
  imageTokens: 0,
  searchUnits: 0,
  durationMs: 0,
}
const UNREPORTED = { ...REPORTED, reported: undefined, isFinal: false }
const NO_TEXT = { ...UNREPORTED, textBytes: 0 }

const IMAGES = { ...NO_TEXT, images: 2, imageTokens: 7 }

/** An answer of 200 with its usage, in full. */
const WHOLE: RequestEnd = {
  outcome: 'answered',
  status: 200,
  wasSent: true,
  hasBegun: true,
  clientLeft: false,
  usage: REPORTED,
  onUpstreamError: 'charge',
  price: PRICE,
}
const UNANSWERED = { status: 0, hasBegun: false, usage: NO_TEXT } as const

/** What is charged: nothing, or a usage with its marks. */
type Expected = 'nothing' | readonly [usage: Usage, ...marks: Charge['flags']]
type Case = readonly [title: string, end: Partial<RequestEnd>, expected: Expected]

/** The table of docs/spec/money.md §2, each row with the ends that it means. */
const TABLE: readonly { readonly row: string; readonly cases: readonly Case[] }[] = [
  {
    row: '| rejected; no endpoint; connection failed; upstream 4xx or 5xx | nothing | |',
    cases: [
      [
        'connection failed',
        { ...UNANSWERED, outcome: 'failed', errorCode: 'upstream_error', wasSent: false },
        'nothing',
      ],
      ['upstream 5xx', { ...UNANSWERED, outcome: 'failed', errorCode: 'upstream_error' }, 'nothing'],
      ['upstream 400, passed on', { status: 400, usage: UNREPORTED }, 'nothing'],
      ['upstream 400, broken', { status: 400, outcome: 'broken' }, 'nothing'],
      ['upstream 400, client left', { status: 400, outcome: 'client_gone' }, 'nothing'],
      ['upstream 400, shutdown', { status: 400, outcome: 'interrupted' }, 'nothing'],
    ],
  },
  {
    row: '| answered, usage reported | that usage; an explicit 0 is 0 | |',
    cases: [
      ['reported', {}, [EXACT]],
      ['an explicit 0', { usage: { ...REPORTED, reported: ZERO } }, [ZERO]],
      ['reported at the start of the stream only', { usage: { ...REPORTED, isFinal: false } }, [EXACT]],
    ],
  },
  {
    row: '| answered, usage absent or invalid | input estimate and output estimated from the text that passed | `estimated` |',
    cases: [
      ['absent', { usage: UNREPORTED }, [ESTIMATE, 'estimated']],
      ['invalid', { usage: { ...UNREPORTED, isFinal: true } }, [ESTIMATE, 'estimated']],
    ],
  },
  {
    row: '| the client received a 502 or 504 in place of an answer, or an answer that is an error and nothing else | nothing | |',
    cases: [
      ['502', { outcome: 'failed', errorCode: 'upstream_error' }, 'nothing'],
      ['504', { outcome: 'failed', errorCode: 'upstream_timeout', usage: UNREPORTED }, 'nothing'],
    ],
  },
  {
    row: '| client left before dispatch | nothing | `client_gone` |',
    cases: [['left', { ...UNANSWERED, outcome: 'client_gone', wasSent: false }, 'nothing']],
  },
  {
    row: '| client left after dispatch, before the first byte | the input estimate; with `on_disconnect: drain` the exact usage | `client_gone`, `estimated` |',
    cases: [
      ['aborted', { ...UNANSWERED, outcome: 'client_gone' }, [INPUT_ESTIMATE, 'client_gone', 'estimated']],
      ['drained', { outcome: 'client_gone' }, [EXACT, 'client_gone']],
    ],
  },
  {
    row: '| client left during a stream | reported usage if seen, else input and the text that passed | `client_gone`, `estimated` |',
    cases: [
      ['usage seen', { outcome: 'client_gone' }, [EXACT, 'client_gone']],
      [
        'usage not seen',
        { outcome: 'client_gone', usage: UNREPORTED },
        [ESTIMATE, 'client_gone', 'estimated'],
      ],
      [
        'only the input seen',
        {
          outcome: 'client_gone',
          usage: { ...UNREPORTED, reported: { ...EXACT, outputTokens: 1 } },
        },
        [{ ...EXACT, outputTokens: 5 }, 'client_gone', 'estimated'],
      ],
    ],
  },
  {
    row: '| client left an answer with images that had begun | all images; reported usage if seen, else input and a likely figure for each image | `client_gone`, `estimated` |',
    cases: [
      [
        'usage not seen',
        { outcome: 'client_gone', usage: IMAGES },
        [{ ...INPUT_ESTIMATE, outputTokens: 7, images: 2 }, 'client_gone', 'estimated'],
      ],
      [
        'usage seen',
        { outcome: 'client_gone', usage: { ...IMAGES, reported: EXACT, isFinal: true } },
        [{ ...EXACT, images: 2 }, 'client_gone'],
      ],
    ],
  },
  {
    row: '| client left after `[DONE]` or `message_stop` was written | exact; the call succeeded | |',
    cases: [['left', { clientLeft: true }, [EXACT]]],
  },
  {
    row: '| upstream broke during an answer | what was received; with `on_upstream_error: free` nothing | `partial` |',
    cases: [
      ['usage seen', { outcome: 'broken', errorCode: 'upstream_error' }, [EXACT, 'partial']],
      [
        'text received',
        { outcome: 'broken', errorCode: 'upstream_error', usage: UNREPORTED },
        [ESTIMATE, 'partial', 'estimated'],
      ],
      [
        'nothing received',
        { outcome: 'broken', errorCode: 'upstream_error', hasBegun: false, usage: NO_TEXT },
        'nothing',
      ],
      ['free', { outcome: 'broken', errorCode: 'upstream_error', onUpstreamError: 'free' }, 'nothing'],
    ],
  },
  {
    row: '| upstream failed while it was read for a client that had left | as for a client that stayed | |',
    cases: [
      ['before the head', { ...UNANSWERED, outcome: 'failed', clientLeft: true }, 'nothing'],
      ['after it', { outcome: 'broken', clientLeft: true }, [EXACT, 'client_gone']],
      ['after it, free', { outcome: 'broken', clientLeft: true, onUpstreamError: 'free' }, 'nothing'],
    ],
  },
  {
    row: '| shutdown or crash | what was received; for holds found after a crash the input estimate | `interrupted`, `estimated` |',
    cases: [
      [
        'text received',
        { outcome: 'interrupted', usage: UNREPORTED },
        [ESTIMATE, 'interrupted', 'estimated'],
      ],
      ['usage seen', { outcome: 'interrupted' }, [EXACT, 'interrupted']],
      ['nothing received', { ...UNANSWERED, outcome: 'interrupted', errorCode: 'unavailable' }, 'nothing'],
    ],
  },
  {
    row: '| first attempt failed, the second answered | the second only | `attempts: 2` |',
    cases: [['the second', {}, [EXACT]]],
  },
]

/** The rows below the head of its table. */
function rowsOfTheSpecification(): readonly string[] {
  const text = readFileSync(new URL('../../docs/spec/money.md', import.meta.url), 'utf8')
  const [, section = ''] = text.split(/^## .* Charges$/m)
  return section.split('\n').filter(line => line.startsWith('| ') && !line.startsWith('| outcome |'))
}

function verdictOf(expected: Expected): unknown {
  if (expected === 'nothing') return { reason: expect.stringMatching(/^\w+$/) }
  const [usage, ...flags] = expected
  return { charge: { usage, amountNano: BigInt(usage.inputTokens + 2 * usage.outputTokens), flags } }
}

it('the table of the specification is the table of this test', () => {
  expect(TABLE.map(({ row }) => row)).toEqual(rowsOfTheSpecification())
})

describe.each(TABLE)('$row', ({ row, cases }) => {
  const [, , charge = '', marks = ''] = row.split('|').map(cell => cell.trim())

  it.each(cases)('%s', (_title, end, expected) => {
    expect(chargeFor({ ...WHOLE, ...end })).toEqual(verdictOf(expected))
  })

  it('says in its columns what its cases expect', () => {
    const expected = cases.map(([, , each]) => each)
    const allFree = expected.every(each => each === 'nothing')
    expect(allFree).toBe(charge === 'nothing')
    const flags = new Set(expected.flatMap(each => (each === 'nothing' ? [] : each.slice(1))))
    const named = [...marks.matchAll(/`(\w+)`/g)].map(([, mark]) => mark)
    expect([...flags]).toEqual(expect.arrayContaining(allFree ? [] : named))
  })
})

it('without a price nothing is owed, and that is marked', () => {
  expect(chargeFor({ ...WHOLE, price: undefined })).toEqual({
    charge: { usage: EXACT, amountNano: 0n, flags: ['unpriced'] },
  })
})

it('a released hold has the error as its reason, or the status that was passed on', () => {
  expect(chargeFor({ ...WHOLE, outcome: 'failed', errorCode: 'upstream_timeout' })).toEqual({
    reason: 'upstream_timeout',
  })
  expect(chargeFor({ ...WHOLE, status: 422 })).toEqual({ reason: 'upstream_422' })
})
