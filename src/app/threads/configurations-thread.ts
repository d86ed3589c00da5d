import { parentPort } from 'node:worker_threads'
import { systemClock } from '../../base/clock.ts'
import { configurationsOn } from '../../control/configurations.ts'
import type { Configurations } from '../../control/ports.ts'
import { asApiError } from '../../control/rescue.ts'
import { MasterKey } from '../../store/master-key.ts'
import { openStore } from '../../store/open.ts'
import { probeEndpoint } from '../endpoint-probe.ts'
import { recentUse } from '../recent-use.ts'
import { wouldServe } from '../would-serve.ts'
import type { Errand, Order, Outcome, PlainError } from './distant-configurations.ts'

/** The thread that works on configurations which come over the network, one after another. */
const port = parentPort
if (!port) throw new Error('configurations-thread.ts runs in a thread')

let working: Promise<void> = Promise.resolve()
port.on('message', (errand: Errand) => {
  working = working.then(async () => port.postMessage(await outcomeOf(errand)))
})

async function outcomeOf({ settings, order }: Errand): Promise<Outcome> {
  const { storeUrl, cwd, environment } = settings
  // Whoever ends the thread ends all of it.
  const { signal } = new AbortController()
  try {
    const store = await openStore(storeUrl, { mode: 'write', clock: systemClock, folder: cwd })
    try {
      const masterKey = MasterKey.of(storeUrl, cwd, environment['GW_MASTER_KEY'])
      const configurations = configurationsOn({
        store,
        check: wouldServe(signal),
        recentUse: recentUse(store),
        probe: (probed, credential) =>
          probeEndpoint(probed, credential, { clock: systemClock, environment, masterKey, store, signal }),
      })
      return { ok: true, answer: await carriedOut(order, configurations) }
    } finally {
      await store.close()
    }
  } catch (error) {
    return { ok: false, error: plain(error) }
  }
}

function carriedOut(order: Order, configurations: Configurations): Promise<unknown> {
  switch (order.method) {
    case 'validate':
      return configurations.validate(...order.given)
    case 'plan':
      return configurations.plan(...order.given)
    case 'apply':
      return configurations.apply(...order.given)
    case 'rollBack':
      return configurations.rollBack(...order.given)
  }
}

/** A class does not cross between threads; what a client is told and what the log is told of it does. */
function plain(thrown: unknown): PlainError {
  const { code, message, errors, retryAfterMs, headers, more, cause } = asApiError(thrown)
  return {
    code,
    message,
    ...(errors && { errors }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(headers && { headers }),
    ...(more && { more }),
    ...(cause instanceof Error && { cause }),
  }
}
