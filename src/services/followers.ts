import type { StoredGateway } from '../store/types.ts'
import type { AppPorts } from './context.ts'
import { isAlive } from './gateways.ts'
import { withStore } from './stored.ts'

/** A running gateway that applies files automatically. */
export interface Follower {
  /** Its address, or its machine. */
  readonly gateway: string
  readonly paths: readonly string[]
  /** True: on each save. False: at its start and on SIGHUP. */
  readonly watch: boolean
}

/** The running gateways that will overwrite changes missing from their files. @throws {CommandError} store_… */
export async function followers(
  storeUrl: string,
  ports: Pick<AppPorts, 'clock' | 'cwd'>,
): Promise<readonly Follower[]> {
  const gateways = await withStore(storeUrl, 'read', ports, store => store.gateways())
  return gateways
    .filter(gateway => isAlive(gateway, ports.clock.nowMs()))
    .flatMap(({ follows, url, host }: StoredGateway) =>
      follows ? [{ gateway: url ?? host, ...follows }] : [],
    )
}
