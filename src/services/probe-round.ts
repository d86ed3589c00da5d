import { setMaxListeners } from 'node:events'
import { type EnvironmentProxies, environmentProxies } from '../base/proxies.ts'
import type { OperationOf } from '../schema/api/operations.ts'
import type { AnswerOf } from '../schema/api/types.ts'
import { decode, type Resource, type Spec } from '../schema/kinds.ts'
import { addressOf } from '../schema/node.ts'
import type { CallPath } from '../schema/paths.ts'
import type { Protocol } from '../schema/protocol.ts'
import { destinationOf, type SecretSource, secretsOf } from '../schema/stored-credential.ts'
import { describe } from '../snapshot/compile.ts'
import { endpointEntry } from '../snapshot/entries.ts'
import { MasterKey } from '../store/master-key.ts'
import type { Live } from '../store/types.ts'
import { pathOf } from '../upstream/probe/ask.ts'
import { httpProbe } from '../upstream/probe/http-probe.ts'
import type { Diagnosis, Probe, ProbedService, ProbeTarget } from '../upstream/probe.ts'
import type { ProbeFailure, ProbeOrder } from './changes/types.ts'
import type { AppPorts } from './context.ts'
import { findSecret, type MissingSecret } from './secrets.ts'

/** Concurrent endpoints. The models of one endpoint are probed one after another. */
const AT_A_TIME = 16

/** Asked for where an upstream lists no models: its error says more than none. */
const UNKNOWN_MODEL = 'default'

/** The probe result of one model of an endpoint. */
export type ProbeRow = {
  readonly endpoint: string
  readonly protocol: Protocol
  readonly model: string
  /** What the upstream lists, if asked for; null: it lists no models. */
  readonly listed?: readonly string[] | null
} & ProbeResult

export type ProbeResult =
  /** `listed`: another model of the endpoint has answered, and the upstream lists this one. */
  | {
      readonly state: 'ok'
      readonly latencyMs: number
      readonly by: ProbedService | 'rate_limited' | 'path'
      /** Found on request, with the first model that answers; `unknown`: the upstream gave no clear answer. */
      readonly paths?: readonly CallPath[] | 'unknown'
    }
  | { readonly state: 'ok'; readonly by: 'listed' }
  | { readonly state: 'failed'; readonly diagnosis: Diagnosis; readonly latencyMs?: number }
  | { readonly state: 'skipped'; readonly reason: 'disabled' | 'skip_probe' | 'nodes' }

export interface ProbeProgress {
  readonly done: number
  readonly total: number
  readonly failed: number
}

/** Options of the caller. */
export interface ProbeOptions {
  /** For each request. */
  readonly timeoutMs: number
  /** Finds the paths that each endpoint serves, too. */
  readonly findsPaths?: boolean
  /** Lists the models of each endpoint, too. An endpoint without a model to probe is asked for the first one. */
  readonly listsModels?: boolean
  readonly onProgress: (progress: ProbeProgress) => void
}

export interface ProbeRoundPorts extends ProbeOptions {
  readonly probe: Probe
  readonly secretOf: (source: SecretSource) => Promise<string | MissingSecret>
  readonly signal: AbortSignal
  /** From the environment. */
  readonly proxies: EnvironmentProxies
  /**
   * If present, a credential is sent only to the destinations in this set: for a configuration that was not reviewed
   * on this machine.
   */
  readonly onlySendings?: ReadonlySet<string>
}

/**
 * The ports of a probe round for a configuration from `paths`, over the `live` state of the store.
 * @throws {CommandError} usage
 */
export function roundPorts(
  paths: readonly string[],
  live: Live,
  storeUrl: string,
  { clock, cwd, environment, signal }: AppPorts,
  options: ProbeOptions,
): ProbeRoundPorts {
  const masterKey = MasterKey.of(storeUrl, cwd, environment['GW_MASTER_KEY'])
  return {
    ...options,
    secretOf: source => findSecret(source, live.kept ?? [], { environment, masterKey }),
    signal,
    proxies: environmentProxies(environment),
    probe: httpProbe({ clock }),
    // A configuration from stdin is not a file that was reviewed on this machine (spec/security.md §6).
    ...(paths.includes('-') && { onlySendings: sendings(live.resources) }),
  }
}

/**
 * Executes probe orders with bounded parallelism; rows have the order of the orders. Resolves secrets only for the
 * probed endpoints.
 *
 * The first model of an endpoint gets a chat request; a further one only if the upstream does not list it: a server
 * that loads models on demand would otherwise unload one for the other.
 *
 * @throws the reason of `signal`, if it was aborted.
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
  // Each running probe adds a listener; Node reports more than ten as a leak.
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
  if (ports.listsModels && 'headers' in target) listed = await ports.probe.list(target, ports)
  const toProbe = models.length > 0 ? models : [listed?.[0] ?? UNKNOWN_MODEL]
  for (const model of toProbe) {
    if (ports.signal.aborted) break
    const isAnother = rows.some(({ state }) => state === 'ok')
    if (isAnother && 'headers' in target) listed ??= (await ports.probe.list(target, ports)) ?? []
    const result: ProbeResult =
      'fault' in target
        ? { state: 'failed', diagnosis: target }
        : isAnother && listed?.includes(model)
          ? { state: 'ok', by: 'listed' }
          : await chatWith({ ...target, servedModel: model }, !isAnother, ports)
    const made = { ...row(model, result), ...(ports.listsModels && { listed: listed ?? null }) }
    rows.push(made)
    onRow(made)
  }
  return rows
}

async function chatWith(target: ProbeTarget, isFirst: boolean, ports: ProbeRoundPorts): Promise<ProbeResult> {
  const outcome = await ports.probe.chat(target, ports)
  const { latencyMs } = outcome
  if (!outcome.ok) return { state: 'failed', latencyMs, diagnosis: outcome.diagnosis }
  const { service, rateLimited } = outcome
  const by = rateLimited || service === 'models' ? 'rate_limited' : service
  if (!ports.findsPaths || !isFirst) return { state: 'ok', latencyMs, by }
  const proven = service === 'models' || service === 'path' ? undefined : pathOf(service, target.protocol)
  return { state: 'ok', latencyMs, by, paths: (await ports.probe.paths(target, proven, ports)) ?? 'unknown' }
}

/** The endpoint with its credential, or the diagnosis if the credential is missing. */
async function targetOf(
  name: string,
  spec: Spec<'endpoint'>,
  { secretOf, onlySendings, proxies }: ProbeRoundPorts,
): Promise<ProbeTarget | Diagnosis> {
  const secrets = new Map<string, string>()
  for (const { field, source } of secretsOf(name, spec)) {
    const label = labelOf(field)
    if (onlySendings && !onlySendings.has(sendingOf(source, spec, field))) {
      return {
        fault: 'secret',
        cause: `The ${label} ${describe(source)} is not sent to ${new URL(addressOf(spec)).origin} yet, and a configuration from stdin cannot change that.`,
        hint: 'Write the configuration to a file, review it, and name the file with -c.',
      }
    }
    const secret = await secretOf(source)
    if (typeof secret !== 'string') {
      return { fault: 'secret', cause: `The ${label}: ${secret.message}.`, hint: secret.hint }
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
      hint: problem.includes(': tls.')
        ? '`tls` refers to PEM text: `ca` and `cert` to certificates, with the own one first, `key` to its private key without a passphrase.'
        : 'Check it for line breaks and other invalid characters.',
    }
  }
  const [credential] = secrets.keys()
  return credential === undefined ? entry : { ...entry, credential }
}

/** `credential`, `header api-key`, `proxy`, `tls.key` */
function labelOf(field: string): string {
  if (field === 'upstream_key') return 'credential'
  return field.startsWith('headers.') ? `header ${field.slice('headers.'.length)}` : field
}

/** The destinations of each secret of these endpoints. */
function sendings(resources: readonly Resource[]): ReadonlySet<string> {
  return new Set(
    resources
      .filter(({ kind }) => kind === 'endpoint')
      .flatMap(({ name, spec }) => {
        const decoded = decode('endpoint', spec)
        return secretsOf(name, decoded).map(({ field, source }) => sendingOf(source, decoded, field))
      }),
  )
}

function sendingOf(source: SecretSource, spec: Spec<'endpoint'>, field: string): string {
  return `${describe(source)} ${destinationOf(spec, field)}`
}

export function failedProbes(rows: readonly ProbeRow[]): readonly ProbeFailure[] {
  return rows.flatMap(row => {
    if (row.state !== 'failed') return []
    const { endpoint, model, diagnosis } = row
    return [{ endpoint, model, cause: diagnosis.cause, hint: diagnosis.hint }]
  })
}

/** The document of a probe round. */
export function probesToJson(rows: readonly ProbeRow[]): AnswerOf<OperationOf<'probe_endpoint'>> {
  const count = (state: ProbeRow['state']) => rows.filter(row => row.state === state).length
  return {
    ok: count('ok'),
    failed: count('failed'),
    skipped: count('skipped'),
    probes: rows.map(probeToJson),
  }
}

export function probeToJson(row: ProbeRow): AnswerOf<OperationOf<'apply_config'>>['probes'][number] {
  const { endpoint, protocol, model, state } = row
  const ms = 'latencyMs' in row ? row.latencyMs : undefined
  return {
    endpoint,
    protocol,
    model,
    state,
    latency_ms: ms === undefined ? null : Math.round(ms),
    ...(row.state === 'ok' && { by: row.by }),
    ...('paths' in row && { paths: row.paths === 'unknown' ? null : [...(row.paths ?? [])] }),
    ...(row.listed !== undefined && { models: row.listed && [...row.listed] }),
    ...(row.state === 'skipped' && { reason: row.reason }),
    ...(row.state === 'failed' && {
      fault: row.diagnosis.fault,
      status: row.diagnosis.status ?? null,
      cause: row.diagnosis.cause,
      hint: row.diagnosis.hint,
      ...(row.diagnosis.fix && { fix: row.diagnosis.fix }),
    }),
  }
}
