import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Claim } from '../../../src/schema/ledger.ts'
import type { Row } from '../../../src/store/ledger/messages.ts'
import { QUARTER_MS } from '../../../src/store/ledger/usage-sums.ts'
import { inMemory } from './in-memory.ts'
import { Oracle } from './oracle.ts'
import { call, hold, NOON_MS, release, settle } from './rows.ts'
import { verified } from './verified.ts'

/** Whose a request is follows from its number, as the rows of one attempt agree about it. */
function claimOf(request: number, attempt: number): Claim {
  const owner = [{ key: 'app', tenant: 'acme' }, { key: 'job', tenant: 'beta' }, { key: 'admin' }][
    request % 3
  ]!
  return { requestId: `req_${request}`, attempt, ...owner, publication: `m${request % 2}`, endpoint: 'east' }
}

const BIGGEST = 2n ** 63n - 1n
const claim = fc.tuple(fc.nat(6), fc.integer({ min: 1, max: 2 })).map(([n, attempt]) => claimOf(n, attempt))
const nano = fc.oneof(fc.bigInt(0n, 5n), fc.bigInt(0n, BIGGEST), fc.constant(BIGGEST))
const tokens = fc.oneof(fc.nat(3), fc.nat(1e9))
const atMs = fc.nat(8).map(quarters => NOON_MS + quarters * (QUARTER_MS / 2))
const usage = fc.record({
  inputTokens: tokens,
  cachedInputTokens: tokens,
  cacheWriteTokens: tokens,
  outputTokens: tokens,
  searchUnits: fc.nat(3),
  durationMs: fc.nat(2_000),
  characters: fc.nat(3),
  images: fc.nat(3),
})
const flags = fc.subarray(['estimated', 'client_gone', 'unpriced'] as const)

const row: fc.Arbitrary<Row> = fc.oneof(
  fc.tuple(claim, nano, fc.boolean()).map(([claim, amountNano, prepaid]) => {
    return ['hold', hold('', { ...claim, ...noTenant(claim), amountNano, prepaid })] as const
  }),
  fc
    .record({ claim, amountNano: nano, endedAtMs: atMs, usage, flags })
    .map(({ claim, ...more }) => ['end', settle('', { ...more, ...claim, ...noTenant(claim) })] as const),
  claim.map(claim => ['end', release('', { ...claim, ...noTenant(claim) })] as const),
  claim.map(claim => ['log', call('', { requestId: claim.requestId })] as const),
)

/** `hold` and `settle` name a tenant unless one is given. */
function noTenant(claim: Claim) {
  return { tenant: claim.tenant } as { tenant: string }
}

const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ is: fc.constant('write' as const), rows: fc.array(row, { maxLength: 12 }) }),
  },
  // A batch that fails half-way leaves nothing behind, and succeeds when it is tried again.
  {
    weight: 1,
    arbitrary: fc.record({ is: fc.constant('fail' as const), rows: fc.array(row, { minLength: 1 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      is: fc.constant('adjust' as const),
      kind: fc.constantFrom('credit' as const, 'debit' as const),
      tenant: fc.constantFrom('acme', 'beta'),
      amountNano: fc.bigInt(1n, BIGGEST),
      reference: fc.constantFrom('a', 'b', 'c'),
    }),
  },
)

test('any history of rows leaves what a plain map of them says, and adds up', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 8 }), async steps => {
      const { raw, book, questions, accounting } = inMemory(() => NOON_MS)
      const oracle = new Oracle()
      for (const one of steps) {
        if (one.is === 'adjust') {
          const { is: _, kind, ...adjustment } = one
          const booked = oracle.adjustments.find(
            ({ tenant, reference }) => tenant === one.tenant && reference === one.reference,
          )
          const amountNano = kind === 'debit' ? -one.amountNano : one.amountNano
          const outcome = accounting[kind](adjustment).then(
            ({ isNew }) => isNew,
            error => error.code,
          )
          if (!booked) oracle.adjustments.push({ ...adjustment, amountNano })
          expect(await outcome).toBe(
            booked ? (booked.amountNano === amountNano ? false : 'reference_taken') : true,
          )
          continue
        }
        if (one.is === 'fail') {
          const before = raw.serialize()
          raw.exec(
            `create temp trigger full before insert on call_logs begin select raise(abort, 'full'); end`,
          )
          expect(() => book.write([...one.rows, ['log', call('req_last')]])).toThrow('full')
          raw.exec('drop trigger full')
          expect(raw.serialize().equals(before)).toBe(true)
        }
        const faults = book.write(one.rows)
        expect(one.rows.map((_, index) => faults.get(index))).toEqual(one.rows.map(row => oracle.write(row)))
      }

      expect(await accounting.verify()).toEqual(
        verified({ entries: oracle.ends.size + oracle.adjustments.length, openHolds: oracle.open.length }),
      )
      for (const tenant of ['acme', 'beta']) {
        expect(await accounting.wallet(tenant)).toEqual({
          tenant,
          balanceNano: oracle.balance(tenant),
          heldNano: oracle.held(tenant),
        })
      }
      const queries = ['app', 'job', 'admin'].map(key => ({ key, sinceMs: NOON_MS + QUARTER_MS }))
      expect(questions.answer({ query: 'sums', queries })).toEqual(
        queries.map(({ key, sinceMs }) => oracle.keySums(key, sinceMs)),
      )
      expect(raw.prepare('select count(*) from call_logs').pluck().get()).toBe(oracle.calls)
      raw.close()
    }),
    { numRuns: 2_000 },
  )
})
