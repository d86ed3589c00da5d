import { expect, it } from 'vitest'
import { LedgerThread } from '../../../src/store/ledger/ledger-thread.ts'

/** Reports damage and ends at once. */
const DAMAGED = `
  import { parentPort } from 'node:worker_threads'
  parentPort.once('message', () => parentPort.postMessage({ is: 'damaged', message: 'row 7 is missing' }))`

it('says why the thread ended although its end and its report arrive together', async () => {
  const thread = new LedgerThread(new URL(`data:text/javascript,${encodeURIComponent(DAMAGED)}`))
  const begun = thread.begin({ path: '', lane: 0, journalFolder: '', openTimeoutMs: 1, batchRows: 1 })
  // Both wait for the main thread, which is busy.
  for (const end = performance.now() + 300; performance.now() < end; );
  await expect(begun).rejects.toMatchObject({ code: 'journal_damaged', message: 'row 7 is missing.' })
})
