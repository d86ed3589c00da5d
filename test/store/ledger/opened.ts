import { onTestFinished } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { LedgerThread } from '../../../src/store/ledger/ledger-thread.ts'
import { type OpenLedgerOptions, openLedger } from '../../../src/store/ledger/open-ledger.ts'
import { openStore } from '../../../src/store/open.ts'
import { storeOfFolder } from '../../support/store-of-folder.ts'
import { tempDir } from '../../support/temp-dir.ts'

/** The thread's module as `npm test` has built it. */
export const WORKER_URL = new URL('../../../dist/store/ledger/worker.js', import.meta.url)

/** What the ledger said, kind by kind, in order. */
function listen() {
  const said: string[] = []
  const listeners = new Set<() => void>()
  const say = (text: string) => {
    said.push(text)
    for (const listener of listeners) listener()
  }
  return {
    said,
    events: {
      onProblem: (message: string) => say(`problem: ${message}`),
      onRecovered: () => say('recovered'),
      onAlarm: (message: string) => say(`alarm: ${message}`),
      onDeath: (error: Error) => say(`death: ${error.message}`),
    },
    /** Resolves when it has said something that begins like this. */
    hear: (start: string) =>
      new Promise<void>(resolve => {
        const listener = () => {
          if (!said.some(text => text.startsWith(start))) return
          listeners.delete(listener)
          resolve()
        }
        listeners.add(listener)
        listener()
      }),
  }
}

/** A store in a folder of its own, with its ledger; both are closed when the test is over. */
export async function openBoth(more: Partial<OpenLedgerOptions> = {}, folder = tempDir(onTestFinished).path) {
  const { said, events, hear } = listen()
  const url = await storeOfFolder(folder, 'gw.db')
  const store = await openStore(url, { mode: 'create', clock: systemClock, folder })
  onTestFinished(() => store.close())
  const open = async () => {
    const ledger = await openLedger(url, {
      clock: systemClock,
      events,
      folder,
      thread: new LedgerThread(WORKER_URL),
      ...more,
    })
    onTestFinished(() => ledger.close(0).then(() => undefined))
    return ledger
  }
  return { folder, url, path: `${folder}/gw.db`, store, ledger: await open(), open, said, hear }
}
