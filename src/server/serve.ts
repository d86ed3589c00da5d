import { readFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { tmpdir, totalmem } from 'node:os'
import { resolve } from 'node:path'
import type { Log } from '../base/log.ts'
import { pooledRandom } from '../base/random.ts'
import { Drains, InFlightRequests } from '../gateway/endings.ts'
import { startGateway } from '../gateway/server.ts'
import { ByteCapacity } from '../http/byte-capacity.ts'
import { sendJson } from '../http/json.ts'
import type { ListenAddress, Listener } from '../http/listen.ts'
import { SpoolFolder } from '../http/spool.ts'
import { healthAnswer } from '../services/health.ts'
import { unservable } from '../services/serve-check.ts'
import { SnapshotHolder } from '../snapshot/holder.ts'
import { MasterKey } from '../store/master-key.ts'
import { openServingStore } from '../store/open.ts'
import type { ServingStore } from '../store/types.ts'
import { httpProbe } from '../upstream/probe/http-probe.ts'
import type { FollowedFiles } from './files/followed-files.ts'
import { Heartbeat } from './heartbeat.ts'
import { LedgerRuntime, type LedgerRuntimePorts } from './ledger-runtime.ts'
import { listenFault } from './listen-fault.ts'
import { GatewayMetrics } from './metrics.ts'
import type { NodeListener } from './nodes/node-listener.ts'
import { Reloader } from './reloader.ts'
import { RevisionRetention } from './revision-retention.ts'
import type { Failure, ServeOptions, ServePorts, Serving } from './serving.ts'
import { openTracer } from './tracing.ts'
import { Upstreams } from './upstreams.ts'
import { metricsOfAll } from './worker-metrics.ts'

/** Uploads beyond 256 KiB wait in temporary files, by default of 1 GiB in all. */
const SPOOLS = { memoryBytes: 262_144, capacityBytes: 1_073_741_824 } as const

/** Half of the memory of the machine or container: a body is outside the heap. */
function bodyMemoryBytes(): number {
  return Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY) / 2
}

/** How long clients have to read the error when their answers are cut off. */
const FAREWELL_MS = 1_000

/** How long the last traces may take to be sent if the drain took all its time. */
const FLUSH_MS = 1_000

/** Where a worker answers alone, for `gw status`, `gw top` and the metrics of all. */
const OWN_ADDRESS = { host: '127.0.0.1', port: 0, isExclusive: true } as const

/** How long an idle connection stays open for a request that may already be on its way. */
const NOTICE_MS = 500

/**
 * Starts the gateway and the control plane over one store.
 *
 * @throws {CommandError} store_… for the store, address_unavailable if an address is in use, nothing_to_serve if no revision can be served.
 * Everything started so far is closed before the throw.
 */
export async function serve(options: ServeOptions, ports: ServePorts): Promise<Serving> {
  const { clock, log } = ports
  const random = pooledRandom(ports.random)
  let fail: (failure: Failure) => void = () => undefined
  const failed = new Promise<Failure>(resolve => {
    fail = resolve
  })
  const { store, masterKey } = await openStoreForServing(options, ports)
  const ledgerRuntime =
    options.gateway &&
    (await openLedgerRuntime(store, options.store, {
      ...ports,
      clockOffMs: () => store.clockOffMs(),
      isShared: options.worker !== undefined,
      onDeath: (error, canBill) => fail({ error, canBill }),
    }))
  const holder = new SnapshotHolder()
  let listening: Listener | undefined
  const nodes =
    options.gateway &&
    options.nodes &&
    new (await import('./nodes/connected-nodes.ts')).ConnectedNodes({
      ...ports,
      random,
      store,
      version: options.version ?? '',
      onDrain: node => upstreams.exchangePorts.pools.retireNode(node),
      onGone: node => upstreams.forgetNode(node),
    })
  const upstreams = new Upstreams({
    clock,
    random,
    log,
    probe: httpProbe({ clock }),
    ...(nodes && { nodes }),
  })
  const measured =
    ledgerRuntime &&
    (await GatewayMetrics.open(options.metrics, {
      clock,
      holder,
      limiter: ledgerRuntime.limiter,
      ledger: ledgerRuntime.ledger,
      health: () => upstreams.health.report(),
      reasons: () => healthNow().reasons,
      connections: () => listening?.connections ?? 0,
      nodes: () => nodes?.figures() ?? [],
      nodeHealth: () => upstreams.health.reportNodes(),
    }))
  const tracer = options.gateway && (await openTracer(options, { ...ports, random }))
  const reloader = new Reloader({
    ...ports,
    store,
    holder,
    masterKey,
    prepare: async snapshot => ledgerRuntime?.prepare(snapshot),
    onSwap: snapshot => {
      ledgerRuntime?.adopt(snapshot)
      measured?.adopt(snapshot)
      nodes?.adopt(snapshot)
      upstreams.adopt(snapshot)
      void files?.compare(snapshot.revision)
      heartbeat?.served()
    },
  })
  const files = options.files && (await createFollowedFiles(options.files.paths, options.store, ports))
  const retention = options.gateway && new RevisionRetention({ ...ports, store, holder })
  const followed = options.files ?? options.worker?.follows
  const heartbeat =
    options.gateway &&
    new Heartbeat({
      ...ports,
      store,
      holder,
      health: () => upstreams.health.report(),
      version: options.version,
      id: ledgerRuntime?.instanceId,
      supervisorPid: options.worker?.supervisorPid,
      ...(followed && {
        follows: { paths: followed.paths.map(path => resolve(ports.cwd, path)), watch: followed.watch },
      }),
    })
  const listeners: Pick<Listener, 'close'>[] = []
  const inFlightRequests = new InFlightRequests()
  let draining = false

  const healthNow = () =>
    healthAnswer(holder.current(), holder.report(), {
      draining,
      inFlight: inFlightRequests.size,
      ...(options.gateway && { endpoints: upstreams.health.counts() }),
      reasons: [
        ...(ledgerRuntime?.reasons() ?? []),
        ...(files?.reasons() ?? []),
        ...upstreams.reasons(holder.current()),
        ...(ports.reasons?.() ?? []),
      ],
      ...(ledgerRuntime && { ledgerHealthy: ledgerRuntime.ledger.healthy }),
    })
  const health = (res: ServerResponse) => {
    const { httpStatus, json } = healthNow()
    sendJson(res, httpStatus, json, { 'cache-control': 'no-store' })
  }
  let nodeListener: NodeListener | undefined
  const beginDrain = () => {
    draining = true
  }
  const close = async (drainMs: number) => {
    beginDrain()
    nodeListener?.stop()
    const endsAtMs = clock.monotonicMs() + drainMs
    const filesClosed = files?.close()
    const left = heartbeat?.leave()
    const deadline = clock.after(drainMs, () => inFlightRequests.interrupt())
    for (const listener of listeners) {
      const leftMs = Math.max(0, endsAtMs - clock.monotonicMs())
      await listener.close(leftMs + FAREWELL_MS, Math.min(leftMs, NOTICE_MS))
    }
    deadline.cancel()
    await Promise.all([filesClosed, left, retention?.stop()])
    const reloaderStopped = reloader.stop()
    // Only upstream answers are left that are read on for clients that have left.
    inFlightRequests.interrupt()
    await inFlightRequests.idle()
    upstreams.close()
    await nodes?.close()
    measured?.close()
    const [lost] = await Promise.all([ledgerRuntime?.close(), reloaderStopped])
    if (lost) log.error({ rows: lost }, 'rows were not committed; their holds are settled at the next start')
    await store.close()
    // Last: a collector that does not answer delays nothing else.
    await tracer?.close(Math.max(endsAtMs - clock.monotonicMs(), FLUSH_MS))
  }

  try {
    if (files) {
      const { startFiles } = await import('./files/followed-files.ts')
      await startFiles(files, options.files?.watch ?? false, store)
    }
    const problems = await reloader.start()
    if (problems) {
      throw unservable(problems)
    }
    const current = () => holder.current()
    const gatewayPorts = options.gateway &&
      ledgerRuntime &&
      measured && {
        current,
        exchangePorts: upstreams.exchangePorts,
        routing: upstreams.routing,
        drains: new Drains(),
        inFlightRequests,
        memory: new ByteCapacity(bodyMemoryBytes()),
        spools: new SpoolFolder({ ...SPOOLS, folder: tmpdir(), ...options.uploads, random }),
        limiter: ledgerRuntime.limiter,
        ledger: ledgerRuntime.ledger,
        clock: ledgerRuntime.clock,
        random,
        log,
        health,
        maxConnections: await maxConnectionsFor(options.maxConnections, log),
        requests: measured.requests,
        ...(tracer && { tracer }),
      }
    const metrics = measured?.port
    const { worker } = options
    const own =
      gatewayPorts &&
      worker &&
      (await startGateway(OWN_ADDRESS, { ...gatewayPorts, ...(metrics && { metrics }) }))
    if (own) listeners.push(own)
    const shown =
      metrics && worker ? metricsOfAll(metrics, options.metrics?.token ?? '', worker.peers) : metrics
    const gateway =
      options.gateway &&
      gatewayPorts &&
      (await startListener(startGateway, '--listen', options.gateway, {
        ...gatewayPorts,
        ...(shown && { metrics: shown }),
      }))
    listening = gateway
    if (gateway) {
      listeners.unshift(gateway)
      heartbeat?.start((own ?? gateway).url)
      retention?.start()
    }
    if (nodes && options.nodes) {
      const { listenForNodes } = await import('./nodes/node-listener.ts')
      const { tls } = options.nodes
      const listenerPorts = { ...ports, random, store, nodes, tls }
      nodeListener = await startListener(listenForNodes, '--node-listen', options.nodes, listenerPorts)
    }
    // Loaded after the gateway, which already answers; the control-plane thread takes half a second.
    const openControl = options.control && (await import('./workers/remote-control.ts')).openRemoteControl
    const control =
      options.control &&
      openControl &&
      (await startListener(openControl, '--control-listen', options.control, {
        ...ports,
        storeUrl: options.store,
        publicUrl: options.controlUrl,
        trustedProxies: options.trustedProxies ?? [],
        version: options.version ?? '',
        hasConsole: options.noConsole !== true,
        health: healthNow,
        endpoints: () => (gateway ? upstreams.health.report() : []),
        nodeActivity: () => ({
          ...(nodeListener && { url: nodeListener.url }),
          nodes: [...(nodes?.figures() ?? [])],
          endpoints: upstreams.health.reportNodes(),
        }),
        ownGateway: () =>
          heartbeat &&
          measured && {
            id: heartbeat.id,
            health: healthNow().json,
            counters: JSON.stringify(measured.counters()),
          },
        view: () => {
          const snapshot = current()
          return (
            snapshot &&
            gateway &&
            ledgerRuntime && {
              snapshot,
              limiter: ledgerRuntime.limiter,
              health: upstreams.health,
              clock: ledgerRuntime.clock,
              nodes: upstreams.routing.nodes,
              ledgerHealthy: ledgerRuntime.ledger.healthy,
            }
          )
        },
        onDeath: error => fail({ error, canBill: true }),
      }))
    if (control) listeners.push(control)
    return {
      ...(gateway && { gatewayUrl: gateway.url }),
      ...(own && { peer: { name: String(ledgerRuntime?.ledger.lane), url: own.url } }),
      ...(control && { controlUrl: control.url }),
      ...(nodeListener && { nodesUrl: nodeListener.url }),
      revision: holder.report().revision,
      failed,
      reload: async () => {
        await files?.apply()
        await reloader.reload()
      },
      fileReasons: () => files?.reasons() ?? [],
      beginDrain,
      close,
      get isExporting() {
        return tracer?.isExporting ?? false
      },
    }
  } catch (error) {
    await close(0)
    throw error
  }
}

async function createFollowedFiles(
  paths: readonly string[],
  store: string,
  ports: ServePorts,
): Promise<FollowedFiles> {
  const { filesThreadUrl, onFilesRejected } = ports
  const { FollowedFiles } = await import('./files/followed-files.ts')
  return new FollowedFiles({
    ...ports,
    paths,
    store,
    ...(filesThreadUrl && { threadUrl: filesThreadUrl }),
    ...(onFilesRejected && { onRejected: onFilesRejected }),
  })
}

async function openStoreForServing(
  { store: url, files }: ServeOptions,
  { clock, cwd, environment, ledgerThread, log }: ServePorts,
): Promise<{ readonly store: ServingStore; readonly masterKey: MasterKey }> {
  try {
    const masterKey = MasterKey.of(url, cwd, environment['GW_MASTER_KEY'])
    const mode = files ? 'create' : 'write'
    const onMigration = (migrations: readonly string[]) => log.info({ migrations }, 'converting the store')
    const onNotice = (notice: string) => log.warn(notice)
    const options = { mode, clock, folder: cwd, environment, onMigration, onNotice } as const
    return { masterKey, store: await openServingStore(url, options) }
  } catch (error) {
    await ledgerThread?.end()
    throw error
  }
}

async function openLedgerRuntime(
  store: ServingStore,
  url: string,
  ports: LedgerRuntimePorts,
): Promise<LedgerRuntime> {
  try {
    return await LedgerRuntime.open(url, ports)
  } catch (error) {
    await store.close()
    throw error
  }
}

async function startListener<Ports, Started>(
  start: (address: ListenAddress, ports: Ports) => Promise<Started>,
  flag: string,
  address: ListenAddress,
  ports: Ports,
): Promise<Started> {
  try {
    return await start(address, ports)
  } catch (error) {
    throw listenFault(error, address, flag)
  }
}

/** Descriptors beside the connections: the store, its journal, the log, pipes of threads. */
const KEPT_FREE = 256
/** Each client connection may need an upstream connection. */
const PER_CONNECTION = 2
const MOST_CONNECTIONS = 20_000

/**
 * The maximum number of client connections: the requested one, or the number that the open-file limit allows.
 * Node raises the soft limit to the hard limit at its start. Only Linux reports the result, in proc(5).
 */
export async function maxConnectionsFor(
  wanted: number | undefined,
  log: Log,
  limits = '/proc/self/limits',
): Promise<number> {
  const text = await readFile(limits, 'utf8').catch(() => '')
  const openFiles = Number(/^Max open files +(\d+)/m.exec(text)?.[1] ?? Number.POSITIVE_INFINITY)
  const fitting = Math.max(1, Math.floor((openFiles - KEPT_FREE) / PER_CONNECTION))
  if (wanted !== undefined && wanted > fitting) {
    log.warn(
      { max_connections: wanted, fitting, open_files: openFiles },
      'the open-file limit is too low for this many connections, each with an upstream connection',
    )
  }
  return wanted ?? Math.min(fitting, MOST_CONNECTIONS)
}
