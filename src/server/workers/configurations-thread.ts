import { parentPort, workerData } from 'node:worker_threads'
import { configurationsOn } from '../../admin/configurations.ts'
import { asApiError } from '../../admin/error-response.ts'
import type { Configurations } from '../../admin/ports.ts'
import { systemClock } from '../../base/clock.ts'
import { wouldServe } from '../../services/serve-check.ts'
import { MasterKey } from '../../store/master-key.ts'
import { openStore } from '../../store/open.ts'
import { probeEndpoints } from '../endpoint-probe.ts'
import type { ThreadSettings } from './remote-configurations.ts'
import { callsOver } from './worker-rpc.ts'

/** The thread that processes configurations from the network, one after another. */
if (!parentPort) throw new Error('configurations-thread.ts runs in a thread')

const { storeUrl, cwd, environment } = workerData as ThreadSettings
let working: Promise<unknown> = Promise.resolve()
callsOver<object, Configurations>(parentPort, {
  validate: (...given) => inTurn(configurations => configurations.validate(...given)),
  plan: (...given) => inTurn(configurations => configurations.plan(...given)),
  apply: (...given) => inTurn(configurations => configurations.apply(...given)),
  rollBack: (...given) => inTurn(configurations => configurations.rollBack(...given)),
})

function inTurn<Answer>(work: (configurations: Configurations) => Promise<Answer>): Promise<Answer> {
  const answer = working.then(() => executed(work))
  // The caller has already received the error.
  working = answer.catch(() => undefined)
  return answer
}

/** @throws {ApiError} also for command errors: their details do not cross. */
async function executed<Answer>(work: (configurations: Configurations) => Promise<Answer>): Promise<Answer> {
  // The thread is terminated as a whole, so the signal never aborts.
  const { signal } = new AbortController()
  try {
    const store = await openStore(storeUrl, { mode: 'write', clock: systemClock, folder: cwd })
    try {
      const masterKey = MasterKey.of(storeUrl, cwd, environment['GW_MASTER_KEY'])
      const ports = { clock: systemClock, environment, masterKey, store, signal }
      const configurations = configurationsOn({
        store,
        clock: systemClock,
        check: wouldServe(signal),
        probe: orders => probeEndpoints(orders, {}, ports),
        signal,
      })
      return await work(configurations)
    } finally {
      await store.close()
    }
  } catch (error) {
    throw asApiError(error)
  }
}
