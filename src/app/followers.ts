import type { StoredGateway } from '../store/types.ts'
import { isAlive } from './heartbeat.ts'
import type { AppPorts } from './ports.ts'
import { withStore } from './stored.ts'

/** A running gateway that applies files by itself. */
export interface Follower {
  /** Its address, or its machine. */
  readonly gateway: string
  readonly paths: readonly string[]
  /** On each save; otherwise at its start and on SIGHUP. */
  readonly watch: boolean
}

/** The running gateways whose files will undo what is not in them. @throws {CommandError} GW2xxx */
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
