import { version as nodeVersionNow } from 'node:process'
import type { ListenAddress } from '../../http/listen.ts'
import { isPostgresUrl, storePath } from '../../store/url.ts'
import type { AppPorts } from '../context.ts'
import { diskSpace, memory, nodeVersion, openFiles, port } from './machine.ts'
import { referenceDiagnoses } from './references.ts'
import { clockDiagnosis, credentialsInUse, masterKeyDiagnosis, storeDiagnoses } from './store.ts'
import type { Diagnosis } from './types.ts'

export interface Examined {
  readonly storeUrl: string
  readonly gateway: ListenAddress
  readonly control: ListenAddress
}

/**
 * Checks everything that gw needs from this machine. Changes nothing.
 * @throws {CommandError} usage if the store URL is invalid.
 */
export async function examine(
  { storeUrl, gateway, control }: Examined,
  ports: AppPorts,
): Promise<readonly Diagnosis[]> {
  const { signal, clock, cwd } = ports
  const path = isPostgresUrl(storeUrl) ? undefined : storePath(storeUrl, cwd)
  const { diagnoses, standing } = await storeDiagnoses(storeUrl, ports)
  signal.throwIfAborted()
  return [
    nodeVersion(nodeVersionNow),
    memory(),
    await openFiles(),
    ...(path === undefined ? [] : [await diskSpace(path)]),
    clockDiagnosis(clock.nowMs(), standing?.newest),
    ...diagnoses,
    await masterKeyDiagnosis(storeUrl, ports, standing ? credentialsInUse(standing.live) : []),
    ...(standing ? await referenceDiagnoses(standing.live, ports) : []),
    await port('--listen', gateway, signal),
    await port('--control-listen', control, signal),
  ]
}
