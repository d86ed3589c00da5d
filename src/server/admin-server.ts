import { readConsole } from '../admin/pages/console.ts'
import { readPages } from '../admin/pages/pages.ts'
import { startControl } from '../admin/server.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { PasswordHasher } from '../base/password.ts'
import type { Random } from '../base/random.ts'
import type { ListenAddress, Listener } from '../http/listen.ts'
import type { EndpointHealthShown } from '../services/endpoints.ts'
import type { HealthAnswer } from '../services/health.ts'
import type { AskOwnGateway } from '../services/live-stats/ask-gateway.ts'
import type { NodeActivity } from '../services/nodes.ts'
import { sealCredential } from '../services/secrets.ts'
import { wouldServe } from '../services/serve-check.ts'
import { makeFirstAdmin } from '../services/users.ts'
import type { ExplainHere } from '../services/why/ask.ts'
import { MasterKey } from '../store/master-key.ts'
import { openStore } from '../store/open.ts'
import type { Store } from '../store/types.ts'
import type { EndpointHealth } from '../upstream/routing/endpoint-state.ts'
import { probeEndpoints } from './endpoint-probe.ts'
import { Hashing } from './workers/hashing.ts'
import { RemoteConfigurations } from './workers/remote-configurations.ts'

/** The ports of the control plane. Its queries cross to the thread of the gateway. */
export interface ControlPlanePorts {
  readonly health: () => Promise<HealthAnswer>
  /** The health of the endpoints; empty if this process sends no traffic. */
  readonly endpoints: () => Promise<readonly EndpointHealth[]>
  /** The nodes of the gateway of this process: their connections, engines and health. */
  readonly nodeActivity: () => Promise<NodeActivity>
  readonly askOwnGateway: AskOwnGateway
  /** Answers from the state of the gateway in this process; undefined if there is none. */
  readonly explainHere: ExplainHere
  /** The store's URL. */
  readonly storeUrl: string
  /** The URL for browsers if a proxy in front terminates TLS. */
  readonly publicUrl: URL | undefined
  /** Addresses and networks of proxies whose forwarding headers are trusted. */
  readonly trustedProxies: readonly string[]
  /** The version of gw, for the API document. */
  readonly version: string
  /** Whether the web console is served. */
  readonly hasConsole: boolean
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
}

/** A running control plane with its store. */
export type ControlPlane = Pick<Listener, 'url' | 'close'> & Pick<Store, 'find'>

/**
 * How many log-ins may wait for the hashing thread, counted separately for known and unknown clients: some seconds
 * each.
 */
const MAX_WAITING = 16

/**
 * Starts the control plane over its own connection. The gateway of this process sees its writes as it sees commits of
 * other processes. Runs in a thread: see `threads/remote-control.ts`.
 * @throws {CommandError} store_…; usage if the first administrator cannot be created.
 */
export async function openControl(address: ListenAddress, ports: ControlPlanePorts): Promise<ControlPlane> {
  const { clock, random, log, cwd, environment } = ports
  const masterKey = MasterKey.of(ports.storeUrl, cwd, environment['GW_MASTER_KEY'])
  const store = await openStore(ports.storeUrl, { mode: 'write', clock, folder: cwd })
  const ended = new AbortController()
  const hashing = new Hashing(clock)
  const settings = { storeUrl: ports.storeUrl, cwd, environment }
  const configurations = new RemoteConfigurations(settings, clock)
  const metricsToken = environment['METRICS_TOKEN']?.trim()
  try {
    const hasher = new PasswordHasher({
      random,
      atOnce: 1,
      maxWaiting: MAX_WAITING,
      derive: derivation => hashing.derive(derivation),
    })
    await makeFirstAdmin(store, hasher, { environment, log })
    const listener = await startControl(address, {
      ...ports,
      ...(environment['SERVICE_DOCS_ENABLED'] === 'true' && { pages: await readPages(ports.version) }),
      ...(ports.hasConsole && { console: await readConsole() }),
      store,
      hasher,
      check: wouldServe(ended.signal),
      configurations,
      gateways: { ...(metricsToken && { metricsToken }), askOwn: ports.askOwnGateway },
      endpointHealth: async () => healthShown(await ports.endpoints()),
      sealCredential: (secret, boundTo) => sealCredential(secret, boundTo, { masterKey, random, clock }),
      probe: (order, options) =>
        probeEndpoints([order], options, { clock, environment, masterKey, store, signal: ended.signal }),
      signal: ended.signal,
    })
    return {
      url: listener.url,
      find: query => store.find(query),
      async close(...words) {
        await listener.close(...words)
        ended.abort()
        await Promise.all([hashing.end(), configurations.end()])
        await store.close()
      },
    }
  } catch (error) {
    await Promise.all([hashing.end(), configurations.end()])
    await store.close()
    throw error
  }
}

function healthShown(report: readonly EndpointHealth[]): ReadonlyMap<string, EndpointHealthShown> {
  return new Map(
    report.map(({ endpoint, state, sinceMs, reason }) => [
      endpoint,
      { state, since: new Date(sinceMs).toISOString(), ...(reason !== undefined && { reason }) },
    ]),
  )
}
