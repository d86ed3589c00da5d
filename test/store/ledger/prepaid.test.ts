import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setImmediate as others } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { BalanceShort } from '../../../src/schema/ledger.ts'
import { openStore } from '../../../src/store/open.ts'
import { canonical, MINE, put } from '../samples.ts'
import { inMemory } from './in-memory.ts'
import { openBoth } from './opened.ts'
import { built, run } from './processes.ts'
import { call, hold, NOON_MS, release, settle } from './rows.ts'

const prepaid = (requestId: string, amountNano: bigint) => hold(requestId, { amountNano, prepaid: true })

describe('a prepaid hold', () => {
  test('is rejected where balance less other holds does not cover it, and the rows beside it are written', async () => {
    const { book, accounting } = inMemory(() => NOON_MS)
    await accounting.credit({ tenant: 'acme', amountNano: 1_000n, reference: 'in' })
    const faults = book.write([
      ['hold', prepaid('a', 600n)],
      ['hold', prepaid('b', 401n)],
      ['hold', prepaid('c', 400n)],
      ['hold', prepaid('d', 1n)],
      ['hold', prepaid('free', 0n)],
    ])
    expect([...faults]).toEqual([
      [1, { balanceNano: 1_000n, heldNano: 600n }],
      [3, { balanceNano: 1_000n, heldNano: 1_000n }],
    ])
    expect(await accounting.verify()).toMatchObject({ openHolds: 3, findings: [] })
  })

  test('may take at once what bills of the same batch have left', async () => {
    const { book, accounting } = inMemory(() => NOON_MS)
    await accounting.credit({ tenant: 'acme', amountNano: 1_000n, reference: 'in' })
    const faults = book.write([
      ['hold', prepaid('a', 1_000n)],
      ['end', settle('a', { amountNano: 300n })],
      ['hold', prepaid('b', 701n)],
      ['hold', prepaid('c', 700n)],
      ['end', release('c')],
      ['hold', prepaid('d', 700n)],
    ])
    expect([...faults]).toEqual([[2, { balanceNano: 700n, heldNano: 0n }]])
  })

  test('counts nothing that a batch held which was not committed', async () => {
    const { raw, book, accounting } = inMemory(() => NOON_MS)
    await accounting.credit({ tenant: 'acme', amountNano: 1_000n, reference: 'in' })
    book.write([['hold', prepaid('a', 100n)]])
    raw.exec(`create temp trigger full before insert on call_logs begin select raise(abort, 'full'); end`)
    const batch = [
      ['end', release('a')],
      ['hold', prepaid('b', 1_000n)],
      ['log', call('b')],
    ] as const
    expect(() => book.write(batch)).toThrow('full')
    raw.exec('drop trigger full')
    expect([...book.write([['hold', prepaid('c', 901n)]])]).toEqual([
      [0, { balanceNano: 1_000n, heldNano: 100n }],
    ])
    expect([...book.write(batch)]).toEqual([])
  })

  test('counts what an earlier process has left open', async () => {
    const { ledger, open, store } = await openBoth()
    await put(store, {
      kind: 'tenant',
      name: 'acme',
      spec: canonical('tenant', { billing: 'prepaid' }),
      ...MINE,
    })
    await store.accounting.credit({ tenant: 'acme', amountNano: 1_000n, reference: 'in' })
    await ledger.open(prepaid('left', 800n))
    await ledger.close()
    const next = await open()
    const rejected = await next.open(prepaid('a', 201n)).catch((error: unknown) => error)
    expect(rejected).toBeInstanceOf(BalanceShort)
    expect(rejected).toMatchObject({ balanceNano: 1_000n, heldNano: 800n })
    await next.open(prepaid('b', 200n))
  })
})

const DEBITS = `
  import { openStore } from ${built('store/open.js')}
  import { systemClock } from ${built('base/clock.js')}
  const store = await openStore('sqlite:' + process.argv[1], { mode: 'write', clock: systemClock })
  console.log('ready')
  let [booked, rejected] = [0, 0]
  for (let count = 0; booked < 60 && count < 5000; count++) {
    const debit = { tenant: 'acme', amountNano: 7n, reference: 'out ' + count }
    await store.accounting.debit(debit).then(() => booked++, error => {
      if (error.code !== 'balance_too_low') throw error
      rejected++
    })
    await new Promise(resume => setTimeout(resume, 5))
  }
  console.log(JSON.stringify({ booked, rejected }))
  await store.close()
`

test('a process that debits and a gateway that holds never take the same money: no balance falls below what is held, nor below 0', {
  timeout: 60_000,
}, async () => {
  const { ledger, path, store } = await openBoth()
  await put(store, {
    kind: 'tenant',
    name: 'acme',
    spec: canonical('tenant', { billing: 'prepaid' }),
    ...MINE,
  })
  await store.accounting.credit({ tenant: 'acme', amountNano: 1_000n, reference: 'in' })
  const debits = run(DEBITS, path)
  const ended = once(debits, 'exit')
  const lines = createInterface(debits.stdout)[Symbol.asyncIterator]()
  expect((await lines.next()).value).toBe('ready')

  const over = new AbortController()
  let [held, short] = [0, 0]
  const request = async (worker: number) => {
    for (let count = 0; !over.signal.aborted; count++) {
      const id = `req_${worker}_${count}`
      try {
        await ledger.open(prepaid(id, 50n))
      } catch (error) {
        if (!(error instanceof BalanceShort)) throw error
        short++
        continue
      }
      held++
      await ledger.end(count % 40 === 0 ? settle(id, { amountNano: 1n }) : release(id))
    }
  }
  const eyes = await openStore(`sqlite:${path}`, { mode: 'read', clock: systemClock })
  onTestFinished(() => eyes.close())
  const watch = async () => {
    let looks = 0
    for (; !over.signal.aborted; looks++) {
      const { balanceNano, heldNano } = await eyes.accounting.wallet('acme')
      expect(heldNano).toBeLessThanOrEqual(balanceNano)
      await others()
    }
    return looks
  }
  const work = Promise.all([...Array.from({ length: 30 }, (_, worker) => request(worker)), watch()])
  const { booked } = JSON.parse(String((await lines.next()).value))
  over.abort()
  expect((await work).at(-1)).toBeGreaterThan(10)
  await ended
  await ledger.flush()
  expect({ booked, some: held > 20, rejected: short > 0 }).toEqual({ booked: 60, some: true, rejected: true })
  expect(await store.accounting.verify()).toMatchObject({ openHolds: 0, findings: [] })
})
