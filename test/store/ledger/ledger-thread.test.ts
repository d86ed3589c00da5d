import { expect, test } from 'vitest'
import { LedgerThread } from '../../../src/store/ledger/ledger-thread.ts'

const MODULES = new URL('../../../dist/store/ledger/', import.meta.url)

test('a thread that fails before it is needed fails whoever needs it, and nobody else', async () => {
  const thread = new LedgerThread(new URL('no-such-module.js', MODULES))
  const settings = { path: 'gw.db', openPatienceMs: 1, batchRows: 1 }
  await expect(thread.begin(settings)).rejects.toThrow('no-such-module.js')
  // By now it is known: it is not asked any more.
  await expect(thread.begin(settings)).rejects.toThrow('no-such-module.js')
})
