import { rmSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { fillUp, smallDisk } from '../../support/small-disk.ts'
import { openBoth } from './opened.ts'
import { hold, settle } from './rows.ts'
import { verified } from './verified.ts'

test('a disk that fills up: calls go on in the journal, and are in the store when there is room again', async ctx => {
  const disk = smallDisk(onTestFinished, 4)
  if (disk instanceof Error) return ctx.skip(`no tmpfs can be mounted here: ${disk.message}`)
  const { ledger, store, said, hear } = await openBoth({ openTimeoutMs: 300 }, disk)
  const deadlineMs = Date.now() + 60_000
  const opened = Array.from({ length: 100 }, (_, i) => `req_${i}`)
  await Promise.all(opened.map(id => ledger.open(hold(id, { deadlineMs }))))

  fillUp(`${disk}/ballast`)
  await Promise.all(opened.map(id => ledger.end(settle(id))))
  await Promise.all(Array.from({ length: 300 }, (_, i) => ledger.open(hold(`late_${i}`, { deadlineMs }))))
  await hear('problem')
  expect(said).toEqual([expect.stringMatching(/^problem: .*SQLITE_FULL/)])
  expect(ledger.healthy).toBe(true)
  expect(ledger.queued).toBeGreaterThanOrEqual(400)
  await expect(ledger.open(hold('prepaid', { prepaid: true }))).rejects.toMatchObject({ code: 'unavailable' })

  rmSync(`${disk}/ballast`)
  await hear('recovered')
  await ledger.open(hold('after', { deadlineMs }))
  await ledger.flush()
  expect(said.map(text => text.split(':')[0])).toEqual(['problem', 'recovered'])
  expect(await store.accounting.verify()).toEqual(verified({ entries: 100, openHolds: 301 }))
  expect(await ledger.close()).toBe(0)
})

test('rows that a full disk keeps from the store are there after the next start', async ctx => {
  const disk = smallDisk(onTestFinished, 4)
  if (disk instanceof Error) return ctx.skip(`no tmpfs can be mounted here: ${disk.message}`)
  const { ledger, open, store, hear } = await openBoth({}, disk)
  const opened = Array.from({ length: 200 }, (_, i) => `req_${i}`)
  await Promise.all(opened.map(id => ledger.open(hold(id))))
  await ledger.flush()
  fillUp(`${disk}/ballast`)
  // Enough of them that no page with room is left.
  await Promise.all(opened.slice(1).map(id => ledger.end(settle(id))))
  await Promise.all(Array.from({ length: 500 }, (_, i) => ledger.open(hold(`late_${i}`))))
  await hear('problem')
  expect(await ledger.close(50)).toBe(0)
  rmSync(`${disk}/ballast`)
  const next = await open()
  expect(await next.recover(Date.now())).toBe(501)
  await next.flush()
  expect(await store.accounting.verify()).toMatchObject({ openHolds: 0, findings: [] })
})
