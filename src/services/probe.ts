import { CommandError } from '../base/catalogue/command.ts'
import { decode, type Resource } from '../schema/kinds.ts'
import type { Live } from '../store/types.ts'
import { knownOutside } from './changes/export.ts'
import { probedModels, skipReason } from './changes/probe-orders.ts'
import { loadTree } from './configuration.ts'
import type { AppPorts } from './context.ts'
import { similarNames } from './names.ts'
import { type ProbeOptions, type ProbeRow, probeRound, roundPorts } from './probe-round.ts'
import type { CommandStore } from './stored.ts'

/**
 * Probes the models of endpoints: of files, or of the store's revision if `paths` is undefined. Disabled endpoints and
 * those with `skip_probe` are listed as skipped.
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
  const orders = endpoints
    .filter(endpoint => skipReason(endpoint) === undefined)
    .map(endpoint => ({ endpoint, models: probedModels(endpoint, resources) }))
  const probed = await probeRound(orders, roundPorts(paths ?? [], live, stored.url, ports, options))
  return endpoints.flatMap(endpoint => {
    const reason = skipReason(endpoint)
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
