import type { GwError } from '../../base/catalogue/wire.ts'
import { iso } from '../../base/iso.ts'
import type { LimitReport } from '../../limits/limits.ts'
import type { FixedCheck } from '../../schema/api/why.ts'
import type { Kind } from '../../schema/kinds.ts'
import { modelFilter } from '../../snapshot/model-filter.ts'
import { pathsInstead } from '../../upstream/routing/candidates.ts'
import type { CheckResult, Decision } from './decide.ts'
import type { WhyLookup } from './lookup.ts'

/** The context of a rejected check. */
interface Situation {
  readonly step: CheckResult
  readonly decision: Decision
  readonly lookup: WhyLookup
}

type Hint = (situation: Situation) => string | undefined

const HINTS: Readonly<Record<FixedCheck, Hint>> = {
  key: hintOfKey,
  maintenance: ({ lookup }) =>
    lookup.manualMaintenance
      ? 'End it with `gw maintenance off`.'
      : `Set \`maintenance.enabled: false\` in settings${placeOf('settings', 'settings', lookup)}.`,
  tenant: ({ decision, lookup }) => {
    const tenant = tenantOf(decision)
    return `Set \`status: active\` in tenants.${tenant}${placeOf('tenant', tenant, lookup)}.`
  },
  body: () => undefined,
  ban: hintOfBan,
  listing: hintOfListing,
  models: hintOfModels,
  protocol: hintOfProtocol,
  nodes: hintOfNodes,
  endpoints: hintOfEndpoints,
  price: ({ decision, lookup }) => {
    const { model } = decision.callOptions
    return `Give publications.${model} a \`price\`${placeOf('publication', model, lookup)}, "0" if it is free on purpose.`
  },
  ledger: () => 'See the log of the gateway: its database cannot be written.',
}

/**
 * Says how to make a check pass: a sentence with the field and its line, or a command. If only time helps, it also names
 * the setting to raise.
 */
export function hintOf(step: CheckResult, decision: Decision, lookup: WhyLookup): string | undefined {
  if (!step.rejection) return undefined
  const situation = { step, decision, lookup }
  return step.report ? hintOfLimit(step.report, step.rejection, situation) : HINTS[step.check](situation)
}

/** ` at config/keys.yaml:12`, or the REST call for a manually created resource; empty if neither is known. */
function placeOf(kind: Kind, name: string, lookup: WhyLookup): string {
  const declared = lookup.find(kind, name)
  if (!declared) return ''
  if (declared.owner !== 'config') return `, with \`PATCH /api/v1/${kind}s/${name}\``
  return declared.file === undefined ? '' : ` at ${declared.file}:${declared.line}`
}

/** The entries of a list, names or globs such as `openai/*`, that match a model. */
export function patternsFor(
  model: string,
  kind: 'key' | 'tenant',
  name: string,
  field: 'models' | 'banned_models',
  lookup: WhyLookup,
): string {
  const patterns = lookup.find(kind, name)?.spec[field]
  const matching = Array.isArray(patterns)
    ? patterns.filter(pattern => typeof pattern === 'string' && modelFilter([pattern])(model))
    : []
  return matching.length > 0
    ? matching.map(pattern => `\`${String(pattern)}\``).join(' and ')
    : 'what matches it'
}

function tenantOf({ caller }: Decision): string {
  return caller.entry?.tenant?.name ?? ''
}

function hintOfKey({ decision: { caller }, lookup }: Situation): string {
  const { entry, rejection } = caller
  if (!entry) return 'Send the whole secret of an existing key; `gw keys list` shows the keys.'
  const { name } = entry
  if (rejection) return `Mint its secret with \`gw keys issue ${name}\`.`
  const declared = lookup.find('key', name)
  const where = placeOf('key', name, lookup)
  if (entry.enabled) {
    const expiresAt = declared?.spec['expires_at']
    if (typeof expiresAt === 'string' && Date.parse(expiresAt) <= entry.expiresAtMs)
      return `Move \`expires_at: ${expiresAt}\` in keys.${name}${where}.`
    return `Use the newer secret: this one ended with the grace of a rotation. Or mint another with \`gw keys rotate ${name}\`.`
  }
  if (lookup.isSuspended(name)) return `End its suspension with \`gw keys enable ${name}\`.`
  return `Set \`enabled: true\` in keys.${name}${where}.`
}

function hintOfBan({ decision, lookup }: Situation): string {
  const { publication, callOptions } = decision
  if (publication?.status === 'banned') return relist(callOptions.model, lookup)
  const tenant = tenantOf(decision)
  const patterns = patternsFor(callOptions.model, 'tenant', tenant, 'banned_models', lookup)
  return `Remove ${patterns} from tenants.${tenant}.banned_models${placeOf('tenant', tenant, lookup)}.`
}

function hintOfListing({ decision: { publication, callOptions }, lookup }: Situation): string {
  if (publication) return relist(callOptions.model, lookup)
  const similar = lookup.didYouMean(callOptions.model)
  const question = similar === undefined ? '' : `Did you mean \`${similar}\`? `
  return `${question}No publication has this name: declare it under \`publications\`.`
}

function relist(model: string, lookup: WhyLookup): string {
  return `Set \`status: listed\` in publications.${model}${placeOf('publication', model, lookup)}.`
}

function hintOfModels({ decision, lookup }: Situation): string {
  const { caller, callOptions } = decision
  const tenant = tenantOf(decision)
  const ofKey = caller.entry !== undefined && !caller.entry.mayUse(callOptions.model)
  const [kind, name] = ofKey ? (['key', caller.entry?.name ?? ''] as const) : (['tenant', tenant] as const)
  return `Add \`${callOptions.model}\` to ${kind}s.${name}.models${placeOf(kind, name, lookup)}.`
}

function hintOfProtocol({ decision: { publication, path, callOptions }, lookup }: Situation): string {
  const place = placeOf('publication', callOptions.model, lookup)
  const bind = `bind an endpoint of protocol ${path.protocol} to publications.${callOptions.model}${place}`
  const [bound] = publication?.targets[path.protocol] ?? []
  const serve = bound
    ? `add \`${path.path}\` to \`paths\` of endpoints.${bound.endpoint.name}${placeOf('endpoint', bound.endpoint.name, lookup)} if its upstream serves it`
    : bind
  const paths = publication ? pathsInstead(publication, path) : []
  return paths.length > 0 ? `Call ${paths.join(' or ')}, or ${serve}.` : sentence(serve)
}

function hintOfNodes({ decision: { candidates }, lookup }: Situation): string {
  const [name = ''] = candidates.flatMap(({ target }) => (target.endpoint.nodes ? target.endpoint.name : []))
  return `Join a node that has the labels and the engine of endpoints.${name}${placeOf('endpoint', name, lookup)}; \`gw nodes list\` shows who is connected.`
}

function hintOfEndpoints({ decision: { candidates, callOptions }, lookup }: Situation): string {
  const parts = candidates.map(({ target, obstacle, health }) => {
    const { name } = target.endpoint
    const place = placeOf('endpoint', name, lookup)
    if (obstacle === 'disabled') return `set \`enabled: true\` in endpoints.${name}${place}`
    if (obstacle === 'unweighted')
      return `give the binding of ${name} a weight${placeOf('publication', callOptions.model, lookup)}`
    if (obstacle === 'full')
      return `raise \`max_concurrency\` of endpoints.${name}${place}, or wait for a request to end`
    if (obstacle === 'cooling_down')
      return `wait until ${timeOf(health.cooldownUntilMs)}, as ${name} asked for`
    const { node } = target.endpoint
    if (obstacle === 'no_node') return `join a node that fits endpoints.${name}${place}`
    if (obstacle === 'draining')
      return `wait until ${node} has restarted, or run \`gw nodes uncordon ${node}\``
    if (obstacle === 'engine_down')
      return `start the engine \`${target.endpoint.nodes?.engine}\` of ${name} on ${node}: \`gw nodes show ${node}\` lists those it has`
    if (obstacle === 'silent') return `look at the network of ${node}: nothing is received from it`
    if (obstacle === 'busy') return `wait, or add nodes: requests queue on ${node}`
    return `run \`gw probe ${name}\` to see why it fails`
  })
  return sentence([...new Set(parts)].join('; '))
}

function hintOfLimit(
  report: LimitReport,
  { code, retryAfterMs }: GwError,
  { decision, lookup }: Situation,
): string | undefined {
  const { entry } = decision.caller
  if (!entry) return undefined
  if (code === 'unavailable') return 'Try again in a moment.'
  const { info, of } = report
  const tenant = tenantOf(decision)
  if (info.field === undefined) return `Credit it: \`gw wallet credit ${tenant} AMOUNT --reference REF\`.`
  const owner = of === 'key' ? entry.name : tenant
  const raise = `raise \`${info.field}\` of ${of}s.${owner}${placeOf(of, owner, lookup)}`
  const wait = waitFor(report, retryAfterMs)
  return wait === undefined ? sentence(raise) : `${wait}, or ${raise}.`
}

function waitFor({ heldUntil, usage }: LimitReport, retryAfterMs: number | undefined): string | undefined {
  if (heldUntil === 'last_byte') return 'Wait for a request to end'
  if (retryAfterMs !== undefined) return `Wait ${Math.ceil(retryAfterMs / 1_000)} s`
  return usage.freshAtMs === undefined
    ? undefined
    : `Wait until ${timeOf(usage.freshAtMs)}, when it starts anew`
}

function timeOf(ms: number | undefined): string {
  return ms === undefined ? 'it does' : iso(ms)
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}
