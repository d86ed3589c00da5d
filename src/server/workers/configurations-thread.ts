import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
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
  preview: (...given) => inTurn(configurations => configurations.preview(...given)),
  apply: (...given) => inTurn(configurations => configurations.apply(...given)),
  rollBack: (...given) => inTurn(configurations => configurations.rollBack(...given)),
})

function inTurn<Answer>(work: (configurations: Configurations) => Promise<Answer>): Promise<Answer> {
  const answer = working.then(() => executed(work))
  // The caller has already received the error.
  working = answer.catch(() => undefined)
  return answer
}

/** The text of a file of the last apply, which may have been on another machine. */
async function readDeclaration(path: string): Promise<string | undefined> {
  if (!/\.ya?ml$/.test(path)) return undefined
  try {
    return await readFile(path, 'utf8')
  } catch {
    return undefined // not on this machine, or not readable: the diff shows the resource alone
  }
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
        readFile: path => readDeclaration(resolve(cwd, path)),
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
