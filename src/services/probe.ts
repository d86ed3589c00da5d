import { CommandError } from '../base/catalogue/command.ts'
import type { OperationOf } from '../schema/api/operations.ts'
import type { AnswerOf } from '../schema/api/types.ts'
import { type CanonicalSpec, decode, type Resource } from '../schema/kinds.ts'
import type { Live } from '../store/types.ts'
import { record } from './audit.ts'
import { knownOutside } from './changes/export.ts'
import { probedModels, skipReason } from './changes/probe-orders.ts'
import type { ProbeOrder } from './changes/types.ts'
import { loadTree } from './configuration.ts'
import type { AppPorts } from './context.ts'
import type { EndpointContext, SentEndpoint } from './endpoints.ts'
import { similarNames } from './names.ts'
import { type ProbeOptions, type ProbeRow, probeRound, probesToJson, roundPorts } from './probe-round.ts'
import { find } from './resources.ts'
import type { CommandStore } from './stored.ts'

/**
 * Probes the models of endpoints: of files, or of the store's revision if `paths` is undefined. Endpoints with
 * `skip_probe`, and disabled ones that are not named, are listed as skipped.
 *
 * @param names of endpoints; empty for all.
 * @throws {ConfigurationInvalid} and {@link CommandError} store_…, not_found if a name is unknown, interrupted.
 */
export async function probeEndpoints(
  names: readonly string[],
  paths: readonly string[] | undefined,
  stored: CommandStore,
  ports: AppPorts,
  options: ProbeOptions,
): Promise<readonly ProbeRow[]> {
  const live = await (paths === undefined ? applied(stored) : stored.live())
  const resources =
    paths === undefined ? live.resources : (await loadTree(paths, knownOutside(live), ports)).tree.resources
  const endpoints = chosen(names, resources)
  const round = (orders: readonly ProbeOrder[]) =>
    probeRound(orders, roundPorts(paths ?? [], live, stored.url, ports, options))
  return probeChosen(endpoints, resources, names.length > 0, round)
}

/** Probes the models of one endpoint, also if it is disabled, and its paths if `paths` is true. @throws {CommandError} not_found */
export async function probeOneEndpoint(
  context: Pick<EndpointContext, 'store' | 'probe' | 'actor' | 'auditLog'>,
  { name, paths }: { readonly name: string; readonly paths?: boolean | undefined },
): Promise<AnswerOf<OperationOf<'probe_endpoint'>>> {
  const { resource } = await find(context, 'endpoint', name)
  const { resources: bindings } = await context.store.find({ kind: 'binding', where: { endpoint: name } })
  const round = async (orders: readonly ProbeOrder[]) =>
    (await Promise.all(orders.map(order => context.probe(order, { findsPaths: paths })))).flat()
  await record(context, { action: 'probe_endpoint', target: `endpoint/${name}` })
  return probesToJson(await probeChosen([resource], bindings, true, round))
}

/**
 * Probes an endpoint that does not exist yet, with its paths and the models that it lists.
 *
 * @param canonical the canonical form of the fields.
 */
export async function probeCandidate(
  context: Pick<EndpointContext, 'probe' | 'actor' | 'auditLog'>,
  sent: SentEndpoint,
  canonical: (fields: SentEndpoint) => CanonicalSpec,
): Promise<AnswerOf<OperationOf<'probe_candidate'>>> {
  const { upstream_key: credential, served_model: model, ...fields } = sent
  const hasCredential = typeof credential === 'string'
  const spec = canonical({
    ...fields,
    served_model: model ?? CANDIDATE,
    // It is not stored: the probe has the credential itself.
    ...(hasCredential && { upstream_key: { stored: NO_STORED_ID } }),
  })
  const endpoint = { kind: 'endpoint', name: CANDIDATE, spec } as const
  const order = { endpoint, models: typeof model === 'string' ? [model] : [] }
  const options = { findsPaths: true, listsModels: true, ...(hasCredential && { credential }) }
  // Requests go to an address of the caller's choice.
  await record(context, {
    action: 'probe_candidate',
    target: `endpoint/${hostOf(spec)}`,
  })
  return probesToJson(await context.probe(order, options))
}

/** The host that is asked; of an endpoint on nodes none. */
function hostOf(spec: CanonicalSpec): string {
  const { base_url: url } = decode('endpoint', spec)
  return url === undefined ? CANDIDATE : new URL(url).host
}

/** The id of a credential that is not stored. */
const NO_STORED_ID = '0'.repeat(24)
/** The name of an endpoint without one. */
const CANDIDATE = 'candidate'

/** @param isNamed disabled endpoints are probed, too. */
async function probeChosen(
  endpoints: readonly Resource[],
  resources: readonly Resource[],
  isNamed: boolean,
  round: (orders: readonly ProbeOrder[]) => Promise<readonly ProbeRow[]>,
): Promise<readonly ProbeRow[]> {
  const reasonOf = ({ spec, ...endpoint }: Resource) =>
    skipReason({ ...endpoint, spec: isNamed ? { ...spec, enabled: true } : spec })
  const orders = endpoints
    .filter(endpoint => reasonOf(endpoint) === undefined)
    .map(endpoint => ({ endpoint, models: probedModels(endpoint, resources) }))
  const probed = await round(orders)
  return endpoints.flatMap(endpoint => {
    const reason = reasonOf(endpoint)
    if (reason === undefined) return probed.filter(row => row.endpoint === endpoint.name)
    const { protocol, served_model: model } = decode('endpoint', endpoint.spec)
    return [{ endpoint: endpoint.name, protocol, model, state: 'skipped', reason }]
  })
}

async function applied(stored: CommandStore): Promise<Live> {
  try {
    return await (await stored.required()).live()
  } catch (error) {
    if (!(error instanceof CommandError) || error.code !== 'store_missing') throw error
    const hint = 'Probe files before they are applied with `-c PATH`, or correct --store.'
    throw new CommandError('store_missing', error.message, { hint, cause: error })
  }
}

function chosen(names: readonly string[], resources: readonly Resource[]): readonly Resource[] {
  const endpoints = resources.filter(({ kind }) => kind === 'endpoint')
  if (names.length === 0) return endpoints
  const unknown = [...new Set(names)].filter(name => endpoints.every(endpoint => endpoint.name !== name))
  if (unknown.length === 0) return endpoints.filter(({ name }) => names.includes(name))
  const known = endpoints.map(({ name }) => name)
  const alike = [...new Set(unknown.flatMap(name => similarNames(name, known)))]
  throw new CommandError('not_found', `There is no endpoint ${unknown.join(', nor ')}.`, {
    hint:
      alike.length > 0
        ? `Did you mean ${alike.join(' or ')}? \`gw probe\` without a name probes all.`
        : '`gw probe` without a name probes all endpoints.',
  })
}
