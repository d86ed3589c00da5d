import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { tempDir } from '../../support/temp-dir.ts'
import { openBoth } from './opened.ts'
import { call, hold, settle } from './rows.ts'

/** A file system of 2 MiB, or why there is none. */
function smallDisk(): string | Error {
  const { path } = tempDir(onTestFinished)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', path], { stdio: 'pipe' })
  } catch (error) {
    return error as Error
  }
  onTestFinished(() => void execFileSync('umount', ['--lazy', path]))
  return path
}

test('a disk that fills up: holds are rejected, ends wait, and all is well when there is room again', async ctx => {
  const disk = smallDisk()
  if (disk instanceof Error) return ctx.skip(`no tmpfs can be mounted here: ${disk.message}`)
  const { ledger, store, said, hear } = await openBoth({ openTimeoutMs: 300 }, disk)
  const deadlineMs = Date.now() + 60_000
  const opened = Array.from({ length: 100 }, (_, i) => `req_${i}`)
  await Promise.all(opened.map(id => ledger.open(hold(id, { deadlineMs }))))

  fillUp(`${disk}/ballast`)
  const ends = opened.map(id => ledger.end(settle(id)))
  const late = Array.from({ length: 300 }, (_, i) => ledger.open(hold(`late_${i}`, { deadlineMs })))
  const outcomes = await Promise.allSettled(late)
  expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set(['rejected']))
  expect(said).toEqual([expect.stringMatching(/^trouble: .*SQLITE_FULL/)])
  expect(ledger.healthy).toBe(false)
  expect(ledger.queued).toBe(100)
  ledger.log(call('late'))
  await expect(ledger.open(hold('later'))).rejects.toMatchObject({ code: 'unavailable' })

  rmSync(`${disk}/ballast`)
  await Promise.all(ends)
  await hear('recovered')
  await ledger.open(hold('after', { deadlineMs }))
  expect(ledger.droppedLogs).toBe(1)
  expect(said.map(text => text.split(':')[0])).toEqual(['trouble', 'recovered'])
  expect(await store.accounting.verify()).toEqual({ entries: 201, openHolds: 1, findings: [] })
  expect(await ledger.close()).toBe(0)
})

test('rows that a full disk keeps from being written are counted when the ledger is closed', async ctx => {
  const disk = smallDisk()
  if (disk instanceof Error) return ctx.skip(`no tmpfs can be mounted here: ${disk.message}`)
  const { ledger, open, hear } = await openBoth({}, disk)
  await ledger.open(hold('a'))
  fillUp(`${disk}/ballast`)
  // Enough of them that no page with room is left.
  const ends = Array.from({ length: 200 }, (_, i) => ledger.end(settle(i === 0 ? 'a' : `never_${i}`)))
  const outcomes = Promise.allSettled(ends)
  await hear('trouble')
  expect(await ledger.close(50)).toBe(200)
  expect((await outcomes).every(({ status }) => status === 'rejected')).toBe(true)
  rmSync(`${disk}/ballast`)
  expect(await (await open()).recover(Date.now())).toBe(1)
})

/** To the last byte: SQLite finds room in half a page. */
function fillUp(path: string): void {
  for (let bytes = 1_048_576; bytes >= 1; bytes /= 2) {
    try {
      for (;;) writeFileSync(path, Buffer.alloc(bytes), { flag: 'a' })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    }
  }
}
