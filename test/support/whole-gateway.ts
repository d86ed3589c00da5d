import { fileURLToPath } from 'node:url'
import { systemClock } from '../../src/base/clock.ts'
import { createLog } from '../../src/base/log.ts'
import { systemRandom } from '../../src/base/random.ts'
import { serve } from '../../src/server/serve.ts'
import type { Serving } from '../../src/server/serving.ts'
import { applyConfiguration } from '../../src/services/configuration.ts'
import type { AppPorts, Context } from '../../src/services/context.ts'
import { disableKey, enableKey, issueKeys } from '../../src/services/keys.ts'
import { localContext, withCommandStore, withStore } from '../../src/services/stored.ts'
import { LedgerThread } from '../../src/store/ledger/ledger-thread.ts'
import { storeOfFolder } from './store-of-folder.ts'
import { tempDir } from './temp-dir.ts'
import type { WhenOver } from './when-over.ts'

/** A gateway as operators run it: files, applied to a store of its own, served from there. */
export interface WholeGateway {
  readonly serving: Serving
  readonly gatewayUrl: string
  readonly controlUrl: string
  /** Where nodes dial in. */
  readonly nodesUrl: string
  readonly store: string
  /** Runs services as `gw` would. */
  inStore<T>(work: (context: Context) => Promise<T>): Promise<T>
  /** Lines of the log, as they were written. */
  readonly log: readonly string[]
  /** Applies a file or directory to the store, as another process would. Gives the new revision. */
  apply(path: string): Promise<number>
  /** Resolves when the gateway serves something else than it did when this was called. */
  reloaded(): Promise<void>
  /** Resolves with the next line of the log that holds a message. */
  logged(message: string): Promise<string>
  /** Takes that back. */
  enable(key: string): Promise<void>
  /** Disables a key by hand, as `gw keys disable` does. */
  disable(key: string): Promise<void>
  /** Mints the secret of a key, and waits until the gateway knows it. */
  issue(key: string): Promise<string>
}

/** Threads run compiled modules: the build's, which `npm test` makes first. */
const LEDGER_WORKER = new URL('../../dist/store/ledger/worker.js', import.meta.url)
export const CONTROL_THREADS = new URL('../../dist/server/workers/', import.meta.url)

export async function wholeGateway(
  whenOver: WhenOver,
  path: string,
  environment: Readonly<Record<string, string>> = {},
  /** Where its store is; a folder of its own by default. */
  folder: string = tempDir(whenOver).path,
  ledgerWorkerUrl: URL = LEDGER_WORKER,
  threadsUrl: URL = CONTROL_THREADS,
): Promise<WholeGateway> {
  const store = await storeOfFolder(folder, 'gw.db')
  const ports: AppPorts = {
    environment,
    cwd: folder,
    clock: systemClock,
    random: systemRandom,
    readStdin: () => Promise.resolve(Buffer.alloc(0)),
    signal: new AbortController().signal,
  }
  const apply = async (from: string): Promise<number> => {
    const { applied } = await withCommandStore(store, 'write', ports, stored =>
      applyConfiguration([from], stored, ports, async () => undefined),
    )
    return applied.revision
  }
  const inStore = <T>(work: (context: Context) => Promise<T>): Promise<T> =>
    withStore(store, 'write', ports, opened => work(localContext(opened, ports)))
  const log: string[] = []
  const waiting = new Set<{ readonly message: string; readonly resolve: (line: string) => void }>()
  const write = (line: string): void => {
    log.push(line)
    for (const waiter of waiting) {
      if (!line.includes(waiter.message)) continue
      waiting.delete(waiter)
      waiter.resolve(line)
    }
  }
  const logged = (message: string) =>
    new Promise<string>(resolve => {
      waiting.add({ message, resolve })
    })
  const reloaded = async () => void (await logged('"serving revision"'))
  await apply(path)
  const loopback = { host: '127.0.0.1', port: 0 }
  const token = environment['METRICS_TOKEN']
  const serving = await serve(
    {
      store,
      gateway: loopback,
      control: loopback,
      nodes: loopback,
      ...(token !== undefined && { metrics: { token, version: '0.0.0' } }),
    },
    {
      ...ports,
      log: createLog({ write }, { level: 'info', pretty: false, colour: false }),
      ledgerThread: new LedgerThread(ledgerWorkerUrl),
      threadsUrl,
    },
  )
  whenOver(() => serving.close(0))
  return {
    serving,
    gatewayUrl: serving.gatewayUrl ?? '',
    controlUrl: serving.controlUrl ?? '',
    nodesUrl: serving.nodesUrl ?? '',
    store,
    inStore,
    log,
    apply,
    reloaded,
    logged,
    enable: async key => void (await inStore(context => enableKey(context, { name: key }))),
    disable: async key => void (await inStore(context => disableKey(context, { name: key }))),
    issue: async key => {
      const known = reloaded()
      const [issued] = await inStore(context => issueKeys(context, { names: [key] }))
      await known
      return issued?.secret ?? ''
    },
  }
}

export const EXAMPLE_CONFIG = fileURLToPath(new URL('../../config.example', import.meta.url))
