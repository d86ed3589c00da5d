import { setMaxListeners } from 'node:events'
import { type EnvironmentProxies, environmentProxies } from '../base/proxies.ts'
import type { ProbeOrder } from '../changes/types.ts'
import { httpProbe } from '../relay/probe/http-probe.ts'
import type { Diagnosis, Probe, ProbedService, ProbeTarget } from '../relay/probe.ts'
import type { Protocol } from '../schema/endpoint.ts'
import { decode, type Resource, type Spec } from '../schema/kinds.ts'
import { destinationOf, type SecretSource, secretsOf } from '../schema/stored-credential.ts'
import { describe } from '../snapshot/compile.ts'
import { endpointEntry } from '../snapshot/entries.ts'
import { MasterKey } from '../store/master-key.ts'
import type { Live } from '../store/types.ts'
import type { AppPorts } from './ports.ts'
import { findSecret, type MissingSecret } from './secrets.ts'

/** So many endpoints are asked at a time; one endpoint is asked for one model after the other. */
const AT_A_TIME = 16

/** What became of one endpoint and one of the models that it is asked for. */
export type ProbeRow = {
  readonly endpoint: string
  readonly protocol: Protocol
  readonly model: string
} & ProbeResult

export type ProbeResult =
  /** `listed`: another model of the endpoint has answered, and the upstream lists this one. */
  | { readonly state: 'ok'; readonly latencyMs: number; readonly by: ProbedService | 'rate_limited' }
  | { readonly state: 'ok'; readonly by: 'listed' }
  | { readonly state: 'failed'; readonly diagnosis: Diagnosis; readonly latencyMs?: number }
  | { readonly state: 'skipped'; readonly reason: 'disabled' | 'skip_probe' }

export interface ProbeProgress {
  readonly done: number
  readonly total: number
  readonly failed: number
}

/** What whoever asks for probes decides. */
export interface ProbeOptions {
  /** For each request. */
  readonly timeoutMs: number
  readonly onProgress: (progress: ProbeProgress) => void
}

export interface ProbeRoundPorts extends ProbeOptions {
  readonly probe: Probe
  readonly secretOf: (source: SecretSource) => Promise<string | MissingSecret>
  readonly signal: AbortSignal
  /** Of the environment. */
  readonly proxies: EnvironmentProxies
  /**
   * Where given, a credential goes only where one of these says that it goes already: for a configuration that
   * nobody could have reviewed on this machine.
   */
  readonly onlySendings?: ReadonlySet<string>
}

/**
 * How a round is carried out for a configuration that came from `paths`, over what is `live` in the store.
 * @throws {CommandError} GW6001
 */
export function roundPorts(
  paths: readonly string[],
  live: Live,
  storeUrl: string,
  { clock, cwd, environment, signal }: AppPorts,
  wishes: ProbeOptions,
): ProbeRoundPorts {
  const masterKey = MasterKey.of(storeUrl, cwd, environment['GW_MASTER_KEY'])
  return {
    ...wishes,
    secretOf: source => findSecret(source, live.kept ?? [], { environment, masterKey }),
    signal,
    proxies: environmentProxies(environment),
    probe: httpProbe({ clock }),
    // What comes through stdin is no file that somebody has reviewed here (spec/security.md §6).
    ...(paths.includes('-') && { onlySendings: sendings(live.resources) }),
  }
}

/**
 * Carries orders out, in parallel and bounded; rows come in the order of the orders. Secrets are resolved for the
 * endpoints that are asked and for no other.
 *
 * The first model of an endpoint is asked for a chat; another one only where the upstream does not list it: servers
 * that load a model when it is asked for would otherwise unload one for the other.
 *
 * @throws the reason of `signal`, where it was aborted.
 */
export async function probeRound(orders: readonly ProbeOrder[], ports: ProbeRoundPorts): Promise<ProbeRow[]> {
  const rows: ProbeRow[][] = orders.map(() => [])
  const total = orders.reduce((sum, { models }) => sum + models.length, 0)
  let done = 0
  let failed = 0
  const onRow = ({ state }: ProbeRow) => {
    done++
    if (state === 'failed') failed++
    ports.onProgress({ done, total, failed })
  }
  ports.onProgress({ done, total, failed })
  // Each probe under way listens; Node warns of more than ten as of a leak.
  setMaxListeners(2 * AT_A_TIME, ports.signal)
  const queue = [...orders.entries()]
  const work = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const [at, order] = next
      rows[at] = await probeEndpoint(order, ports, onRow)
    }
  }
  await Promise.all(Array.from({ length: Math.min(AT_A_TIME, orders.length) }, work))
  ports.signal.throwIfAborted()
  return rows.flat()
}

async function probeEndpoint(
  { endpoint, models }: ProbeOrder,
  ports: ProbeRoundPorts,
  onRow: (row: ProbeRow) => void,
): Promise<ProbeRow[]> {
  const spec = decode('endpoint', endpoint.spec)
  const row = (model: string, result: ProbeResult): ProbeRow => ({
    endpoint: endpoint.name,
    protocol: spec.protocol,
    model,
    ...result,
  })
  const target = await targetOf(endpoint.name, spec, ports)
  const rows: ProbeRow[] = []
  let listed: readonly string[] | undefined
  for (const model of models) {
    if (ports.signal.aborted) break
    const isAnother = rows.some(({ state }) => state === 'ok')
    if (isAnother && 'headers' in target) listed ??= (await ports.probe.list(target, ports)) ?? []
    const result: ProbeResult =
      'fault' in target
        ? { state: 'failed', diagnosis: target }
        : isAnother && listed?.includes(model)
          ? { state: 'ok', by: 'listed' }
          : await chatWith({ ...target, servedModel: model }, ports)
    rows.push(row(model, result))
    onRow(row(model, result))
  }
  return rows
}

async function chatWith(target: ProbeTarget, ports: ProbeRoundPorts): Promise<ProbeResult> {
  const outcome = await ports.probe.chat(target, ports)
  const { latencyMs } = outcome
  if (!outcome.ok) return { state: 'failed', latencyMs, diagnosis: outcome.diagnosis }
  const { service, rateLimited } = outcome
  return { state: 'ok', latencyMs, by: rateLimited || service === 'models' ? 'rate_limited' : service }
}

/** The endpoint with its credential, or why it has none. */
async function targetOf(
  name: string,
  spec: Spec<'endpoint'>,
  { secretOf, onlySendings, proxies }: ProbeRoundPorts,
): Promise<ProbeTarget | Diagnosis> {
  const secrets = new Map<string, string>()
  for (const { field, source } of secretsOf(name, spec)) {
    const what = field === 'upstream_key' ? 'credential' : `header ${field.slice('headers.'.length)}`
    if (onlySendings && !onlySendings.has(sendingOf(source, spec))) {
      return {
        fault: 'secret',
        cause: `The ${what} ${describe(source)} does not go to ${new URL(spec.base_url).origin} yet, and a configuration from stdin cannot make it.`,
        hint: 'Write the configuration to a file, review it, and name the file with -c.',
      }
    }
    const secret = await secretOf(source)
    if (typeof secret !== 'string') {
      return { fault: 'secret', cause: `The ${what}: ${secret.message}.`, hint: secret.hint }
    }
    secrets.set(describe(source), secret)
  }
  const problems: string[] = []
  const entry = endpointEntry(
    { name, account: name, spec, createdAtMs: 0 },
    {
      problems,
      resolve: (_owner, source) => secrets.get(describe(source)) ?? '',
      environmentProxies: proxies,
    },
  )
  const [problem] = problems
  if (problem !== undefined) {
    return {
      fault: 'secret',
      cause: `The ${problem}.`,
      hint: 'Look for line breaks and odd characters in it.',
    }
  }
  const [credential] = secrets.keys()
  return credential === undefined ? entry : { ...entry, credential }
}

/** What of the secrets of these endpoints goes where. */
function sendings(resources: readonly Resource[]): ReadonlySet<string> {
  return new Set(
    resources
      .filter(({ kind }) => kind === 'endpoint')
      .flatMap(({ name, spec }) => {
        const decoded = decode('endpoint', spec)
        return secretsOf(name, decoded).map(({ source }) => sendingOf(source, decoded))
      }),
  )
}

function sendingOf(source: SecretSource, spec: Spec<'endpoint'>): string {
  return `${describe(source)} ${destinationOf(spec)}`
}
