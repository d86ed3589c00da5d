import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { ShareMessage, ShareReply, ShareRequest } from '../../../src/schema/shares.ts'
import { parsePostgresUrl } from '../../../src/store/postgres/address.ts'
import { insertInstance } from '../../../src/store/postgres/ledger/instance-rows.ts'
import { LaneConnection } from '../../../src/store/postgres/ledger/lane-connection.ts'
import { ownIdentity } from '../../../src/store/postgres/ledger/process-identity.ts'
import { applyMessage, recoverShares } from '../../../src/store/postgres/ledger/shares.ts'
import { Grantor } from '../../../src/store/shares/grantor.ts'
import { storeDatabase } from '../../support/postgres.ts'
import { MemoryTables } from '../shares/memory-tables.ts'

const LEASE_MS = 60_000
const DAY_MS = 86_400_000
const SCOPES = [
  { scope: { owner: 'key a', limit: 'quota' }, kind: 'sum', bound: 60n, perMinute: 0n },
  { scope: { owner: 'key a', limit: 'rpm' }, kind: 'rate', bound: 20n, perMinute: 600n },
  { scope: { owner: 'tenant t', limit: 'balance' }, kind: 'sum', bound: 0n, perMinute: 0n },
  { scope: { owner: 'key b', limit: 'concurrency' }, kind: 'permits', bound: 4n, perMinute: 0n },
] as const

function requestOf(at: number, amounts: Partial<Record<Amount, number>>): ShareRequest {
  const { scope, kind, bound, perMinute } = SCOPES[at % SCOPES.length] as (typeof SCOPES)[number]
  const big = (amount: Amount) => BigInt(amounts[amount] ?? 0)
  return {
    scope,
    terms: { kind, bound, perMinute, revision: 1, sinceMs: 0 },
    used: kind === 'permits' ? 0n : big('used'),
    corrected: 0n,
    returned: big('returned'),
    least: big('least'),
    most: big('least') + big('more'),
  }
}
type Amount = 'used' | 'returned' | 'least' | 'more'

/** Which limits are recalled has no order. */
function inOrder(reply: ShareReply): ShareReply {
  if (reply.is === 'fenced') return reply
  return { ...reply, recalled: reply.recalled.toSorted((a, b) => (a.limit < b.limit ? -1 : 1)) }
}

async function setUp(instances: number) {
  const database = await storeDatabase(onTestFinished)
  const connect = () => {
    const connection = new LaneConnection(parsePostgresUrl(database.url, 'test'))
    onTestFinished(() => connection.close())
    return connection
  }
  const db = connect()
  const join = () => insertInstance(db, ownIdentity(), LEASE_MS)
  const ids: string[] = []
  for (let count = 0; count < instances; count++) ids.push(await join())
  return { database, connect, db, ids }
}

describe('the grantor in PostgreSQL', () => {
  test('counts a budget in the latest window that has begun', async () => {
    const { db, ids } = await setUp(1)
    const [instance = ''] = ids
    const nowMs = Date.now()
    const [day, next] = [nowMs - (nowMs % DAY_MS), nowMs - (nowMs % DAY_MS) + DAY_MS]
    await db.query(`insert into usage_quarters
      select 'a', ${day / 900_000}, 't', 'm', 'e', 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 40, 0, 0`)
    const spentFrom = async (number: number, sinceMs: number) => {
      const terms = { kind: 'sum', bound: 60n, perMinute: 0n, revision: 1, sinceMs } as const
      const scope = { owner: 'key a', limit: 'budget day UTC' }
      const request = { scope, terms, used: 0n, corrected: 0n, returned: 0n, least: 0n, most: 0n }
      const reply = await applyMessage(db, { instance, number, requests: [request] }, LEASE_MS)
      return reply.is === 'granted' && reply.answers[0]?.spent
    }
    expect(await spentFrom(1, day)).toBe(40n)
    expect(await spentFrom(2, next)).toBe(40n)
    await db.query(`update scopes set since_ms = ${next}`)
    expect(await spentFrom(3, day)).toBe(40n)
    expect((await db.query('select since_ms from scopes')).rows).toEqual([[day]])
  })

  test('answers as the rules do in memory, whatever instances ask for', async () => {
    const { db, ids } = await setUp(3)
    const step = fc.record({
      at: fc.nat(2),
      scope: fc.nat(SCOPES.length - 1),
      used: fc.nat(6),
      returned: fc.nat(3),
      least: fc.nat(8),
      more: fc.nat(8),
      isRepeated: fc.boolean(),
      credit: fc.nat(20),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async steps => {
        await db.query(`delete from shares; delete from scopes; delete from wallets; delete from key_totals;
          update instances set number = 0, is_fenced = 0`)
        const sums = { quota: 0n, balance: 0n }
        const memory = new MemoryTables(({ limit }) => (limit === 'balance' ? -sums.balance : sums.quota))
        const grantor = new Grantor(memory, { leaseMs: undefined })
        for (const id of ids) grantor.join(id, 0)
        const numbers = [0, 0, 0]
        for (const { at, scope, isRepeated, credit, ...amounts } of steps) {
          sums.quota += BigInt(amounts.used)
          sums.balance += BigInt(credit)
          await db.query(`insert into key_totals values ('a', ${sums.quota}, 0, 0)
              on conflict (key_name) do update set tokens = excluded.tokens;
            insert into wallets values ('t', 0, ${sums.balance})
              on conflict (tenant) do update set balance_nano = excluded.balance_nano`)
          const number = isRepeated ? Math.max(1, numbers[at] as number) : (numbers[at] as number) + 1
          numbers[at] = number
          const message: ShareMessage = {
            instance: ids[at] as string,
            number,
            requests: [requestOf(scope, amounts), requestOf(scope + 1, { least: amounts.more })],
          }
          const reply = await applyMessage(db, message, undefined)
          // The rules get the time that the store had.
          const { rows } = await db.query('select max(at_ms) from scopes')
          expect(inOrder(reply)).toEqual(inOrder(grantor.apply(message, (rows[0] as [number])[0])))
        }
      }),
      { numRuns: Number(process.env['GW_HISTORIES'] ?? 15) },
    )
  })

  test('grants no unit twice to gateways that ask at the same time', async () => {
    const { database, connect, ids } = await setUp(4)
    const granted = await Promise.all(
      ids.map(async id => {
        const db = connect()
        let amount = 0n
        for (let number = 1; number <= 15; number++) {
          const requests = [requestOf(0, { least: 1 }), requestOf(3, { least: 1 })]
          const reply = await applyMessage(db, { instance: id, number, requests }, LEASE_MS)
          if (reply.is === 'granted') amount = (reply.answers[0] as { amount: bigint }).amount
        }
        return amount
      }),
    )
    expect(granted.reduce((sum, amount) => sum + amount)).toBe(60n)
    const sums = await database.query(`
      select s.limit_name, leased::text, bound::text, sum(amount)::text as amount from scopes s
      join shares h on h.owner = s.owner and h.limit_name = s.limit_name group by 1, 2, 3 order by 1`)
    expect(sums).toEqual([
      { limit_name: 'concurrency', leased: '4', bound: '4', amount: '4' },
      { limit_name: 'quota', leased: '60', bound: '60', amount: '60' },
    ])
  })

  test('gives nothing to an instance that is fenced, and frees its shares but for open holds', async () => {
    const { db, ids, database } = await setUp(2)
    const [id, other] = ids as [string, string]
    const ask = (instance: string, number: number, least: number) =>
      applyMessage(db, { instance, number, requests: [requestOf(0, { least })] }, LEASE_MS)
    await ask(id, 1, 40)
    await database.execute(`update instances set is_fenced = 1 where id = '${id}'`)
    expect(await ask(id, 2, 1)).toEqual({ is: 'fenced' })
    expect(await ask(other, 1, 55)).toMatchObject({ answers: [{ granted: 0n }] })
    expect(await recoverShares(db, id, () => 3n)).toBe(false)
    expect(await ask(other, 2, 57)).toMatchObject({ answers: [{ granted: 57n, free: 0n }] })
    expect(await recoverShares(db, id, () => 0n)).toBe(true)
    expect(await ask(other, 3, 3)).toMatchObject({ answers: [{ granted: 3n }] })
  })
})
