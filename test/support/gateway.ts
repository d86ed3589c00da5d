import { keyDigest, mintKey } from '../../src/base/api-key.ts'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import { createLog } from '../../src/base/log.ts'
import { systemRandom } from '../../src/base/random.ts'
import { load } from '../../src/config/load.ts'
import { Drains, InFlightRequests } from '../../src/gateway/endings.ts'
import type { MetricsPort } from '../../src/gateway/metrics.ts'
import { startGateway } from '../../src/gateway/server.ts'
import { ByteCapacity } from '../../src/http/byte-capacity.ts'
import { sendJson } from '../../src/http/json.ts'
import { SpoolFolder } from '../../src/http/spool.ts'
import { Limiter } from '../../src/limits/limiter.ts'
import { type RequestMeter, UNMEASURED } from '../../src/metering/request-log.ts'
import type { CallTracer } from '../../src/metering/trace.ts'
import { Upstreams } from '../../src/server/upstreams.ts'
import { compile } from '../../src/snapshot/compile.ts'
import { SnapshotHolder } from '../../src/snapshot/holder.ts'
import type { KeyEntry, Snapshot } from '../../src/snapshot/types.ts'
import type { Probe } from '../../src/upstream/probe.ts'
import { type MemoryLedger, memoryLedger } from './memory-ledger.ts'
import { tempDir } from './temp-dir.ts'
import type { WhenOver } from './when-over.ts'

/** A gateway on port 0 over a configuration in YAML, without a store: what it serves is the test's to change. */
export interface TestGateway {
  readonly url: string
  /** The minted secret of a key of the configuration. */
  secretOf(key: string): string
  /** Serves another configuration from now on; keys keep their secrets. */
  reload(yaml: string): Promise<void>
  /** What was sent to the ledger. */
  readonly ledger: MemoryLedger
  readonly limiter: Limiter
  readonly upstreams: Upstreams
  /** Where uploads wait. */
  readonly spools: SpoolFolder
  /** What large bodies of JSON take. */
  readonly memory: ByteCapacity
  /** What it serves now. */
  snapshot(): Snapshot
  /** A key as the limits know it now. */
  entryOf(key: string): KeyEntry
  /** The lines of the request log so far, newest last. */
  readonly logged: readonly Record<string, unknown>[]
  /** The next line that no earlier call has given out. */
  nextLogged(): Promise<Record<string, unknown>>
}

export interface TestGatewayOptions {
  /** Room for large bodies of JSON. */
  readonly bodyMemoryBytes?: number
  readonly clock?: Clock
  /** Secrets behind `{ env: NAME }`. */
  readonly secrets?: Readonly<Record<string, string>>
  /** What every prepaid wallet holds; nothing by default. */
  readonly balanceNano?: bigint
  /** What brings unhealthy endpoints back; by default nothing does. */
  readonly probe?: Pick<Probe, 'check'>
  /** Counts the requests; nothing does by default. */
  readonly requests?: RequestMeter
  /** Answers `/metrics`; nothing does by default. */
  readonly metrics?: MetricsPort
  /** Traces calls; nothing does by default. */
  readonly tracer?: CallTracer
  /** False: no snapshot yet. */
  readonly started?: boolean
}

export async function testGateway(
  whenOver: WhenOver,
  yaml: string,
  options: TestGatewayOptions = {},
): Promise<TestGateway> {
  const clock = options.clock ?? systemClock
  const holder = new SnapshotHolder()
  const limiter = new Limiter(clock)
  const ledger = memoryLedger()
  const upstreams = new Upstreams({
    clock,
    random: systemRandom,
    log: createLog({ write: () => undefined }, { level: 'info', pretty: false, colour: false }),
    probe: options.probe ?? { check: () => new Promise(() => undefined) },
  })
  const secrets = new Map<string, string>()
  const logged: Record<string, unknown>[] = []
  const readers: ((line: Record<string, unknown>) => void)[] = []
  let given = 0
  let revision = 0

  const secretOf = (key: string): string => {
    const known = secrets.get(key) ?? mintKey(systemRandom)
    secrets.set(key, known)
    return known
  }
  const reload = async (text: string): Promise<void> => {
    const loaded = await load(['-'], {
      environment: {},
      readStdin: () => Promise.resolve(Buffer.from(text)),
      known: new Set(),
    })
    if (!loaded.ok) throw new Error(loaded.problems.map(problem => problem.message).join('\n'))
    const resources = loaded.tree.resources.map(resource => ({ ...resource, createdAtMs: 1_700_000_000_000 }))
    const keys = resources.filter(resource => resource.kind === 'key').map(resource => resource.name)
    const state = {
      revision: ++revision,
      keyVersion: 1,
      resources,
      secrets: keys.map(key => ({ key, digest: keyDigest(secretOf(key)) })),
      suspendedKeys: [],
    }
    const compiled = compile(
      state,
      source => options.secrets?.['env' in source ? (source.env ?? '') : ''] ?? new Error('no such secret'),
    )
    if (!compiled.ok) throw new Error(compiled.problems.join('\n'))
    // Nothing was ever spent.
    const question = limiter.balanceQuery(compiled.snapshot)
    question.answerSums(
      question.queries.map(({ key }) => ({ key, totalTokens: 0, totalNano: 0n, windowNano: 0n })),
    )
    question.answerBalances(new Map(question.tenants.map(tenant => [tenant, options.balanceNano ?? 0n])))
    limiter.adopt(compiled.snapshot)
    holder.swap(compiled.snapshot, clock.nowMs())
    upstreams.adopt(compiled.snapshot)
  }
  if (options.started !== false) await reload(yaml)

  const write = (line: string): void => {
    const entry = JSON.parse(line) as Record<string, unknown>
    logged.push(entry)
    if (readers.length > 0) given++
    readers.shift()?.(entry)
  }
  const memory = new ByteCapacity(options.bodyMemoryBytes ?? 1_073_741_824)
  const spools = new SpoolFolder({
    folder: tempDir(whenOver).path,
    random: systemRandom,
    memoryBytes: 65_536,
    capacityBytes: 1_073_741_824,
  })
  const listener = await startGateway(
    { host: '127.0.0.1', port: 0 },
    {
      current: () => holder.current(),
      exchangePorts: upstreams.exchangePorts,
      routing: upstreams.routing,
      drains: new Drains(),
      inFlightRequests: new InFlightRequests(),
      spools,
      memory,
      limiter,
      ledger,
      clock,
      random: systemRandom,
      log: createLog({ write }, { level: 'info', pretty: false, colour: false }),
      health: res => sendJson(res, 200, '{"status":"ok"}'),
      requests: options.requests ?? UNMEASURED,
      ...(options.metrics && { metrics: options.metrics }),
      ...(options.tracer && { tracer: options.tracer }),
    },
  )
  whenOver(async () => {
    await listener.close(0)
    upstreams.close()
  })
  return {
    url: listener.url,
    secretOf,
    reload,
    ledger,
    limiter,
    upstreams,
    spools,
    memory,
    snapshot() {
      const snapshot = holder.current()
      if (!snapshot) throw new Error('nothing is served yet')
      return snapshot
    },
    entryOf(key) {
      const entry = [...(holder.current()?.keys.values() ?? [])].find(({ name }) => name === key)
      if (!entry) throw new Error(`there is no key ${key}`)
      return entry
    },
    logged,
    nextLogged: () =>
      given < logged.length
        ? Promise.resolve(logged[given++] as Record<string, unknown>)
        : new Promise(resolve => readers.push(resolve)),
  }
}

/**
 * One model on an OpenAI-style and one on an Anthropic-style upstream, a platform key, and a tenant with a key. Its
 * endpoints stay in, however often they fail.
 */
export function basicConfig(upstreamUrl: string, settings = ''): string {
  return `
version: 1
settings: { health: { unhealthy_after: 1000 }, ${settings} }
endpoints:
  oai: { protocol: openai, base_url: "${upstreamUrl}/v1", served_model: served-oai, upstream_key: { env: OAI_KEY } }
  ant: { protocol: anthropic, base_url: "${upstreamUrl}/v1", served_model: served-ant, upstream_key: { env: ANT_KEY } }
publications:
  ext/chat: { bindings: [{ endpoint: oai }] }
  ext-claude: { bindings: [{ endpoint: ant }] }
  ext-both: { bindings: [{ endpoint: oai }, { endpoint: ant }] }
tenants:
  acme: {}
keys:
  admin: { kind: platform }
  app: { kind: tenant, tenant: acme }
`
}

export const BASIC_SECRETS = { OAI_KEY: 'sk-upstream-openai', ANT_KEY: 'sk-upstream-anthropic' }
