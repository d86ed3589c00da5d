import { expect, test } from 'vitest'
import { LedgerThread } from '../../../src/store/ledger/ledger-thread.ts'

const SETTINGS = { path: 'gw.db', journalFolder: 'gw.db.ledger', openTimeoutMs: 1, batchRows: 1 }
const MODULES = new URL('../../../dist/store/ledger/', import.meta.url)

test('a thread that fails before it is needed fails whoever needs it, and nobody else', async () => {
  const thread = new LedgerThread(new URL('no-such-module.js', MODULES))
  await expect(thread.begin(SETTINGS)).rejects.toThrow('no-such-module.js')
  // By now it is known: it is not asked any more.
  await expect(thread.begin(SETTINGS)).rejects.toThrow('no-such-module.js')
})

test('a thread that ends before it is needed, without a word, fails whoever needs it', async () => {
  const thread = new LedgerThread(new URL('data:text/javascript,process.exit(0)'))
  await expect(thread.begin(SETTINGS)).rejects.toThrow("the ledger's thread has ended with code 0")
})
