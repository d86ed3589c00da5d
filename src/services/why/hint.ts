import type { Kind } from '../../schema/kinds.ts'
import { modelFilter } from '../../snapshot/model-filter.ts'
import type { CheckName, CheckResult, Decision } from './decide.ts'
import type { WhyLookup } from './lookup.ts'

/** The context of a rejected check. */
interface Situation {
  readonly step: CheckResult
  readonly decision: Decision
  readonly lookup: WhyLookup
}

type Hint = (situation: Situation) => string | undefined

const HINTS: Readonly<Record<CheckName, Hint>> = {
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
  endpoints: hintOfEndpoints,
  price: ({ decision, lookup }) => {
    const { model } = decision.callOptions
    return `Give publications.${model} a \`price\`${placeOf('publication', model, lookup)}, "0" if it is free on purpose.`
  },
  key_concurrency: hintOfLimit,
  tenant_concurrency: hintOfLimit,
  key_rpm: hintOfLimit,
  tenant_rpm: hintOfLimit,
  key_tpm: hintOfLimit,
  tenant_tpm: hintOfLimit,
  key_quota: hintOfLimit,
  key_budget: hintOfLimit,
  tenant_balance: hintOfLimit,
  ledger: () => 'See the log of the gateway: its database cannot be written.',
}

/**
 * Says how to make a check pass: a sentence with the field and its line, or a command. If only time helps, it also names
 * the setting to raise.
 */
export function hintOf(step: CheckResult, decision: Decision, lookup: WhyLookup): string | undefined {
  return step.rejection && HINTS[step.check]({ step, decision, lookup })
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
  const other = path.protocol === 'openai' ? 'anthropic' : 'openai'
  const place = placeOf('publication', callOptions.model, lookup)
  const bind = `bind an endpoint of protocol ${path.protocol} to publications.${callOptions.model}${place}`
  if (!publication || publication.targets[other].length === 0) return sentence(bind)
  const home = other === 'openai' ? '/v1/chat/completions' : '/v1/messages'
  return `Call ${home}, or ${bind}.`
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
    if (obstacle === 'cooling_down') return `wait until ${iso(health.cooldownUntilMs)}, as ${name} asked for`
    return `run \`gw probe ${name}\` to see why it fails`
  })
  return sentence([...new Set(parts)].join('; '))
}

const LIMIT_FIELDS = {
  concurrency: 'limits.concurrency',
  rpm: 'limits.rpm',
  tpm: 'limits.tpm',
  quota: 'quota',
  budget: 'budget.amount',
} as const

function hintOfLimit({ step: { report, rejection }, decision, lookup }: Situation): string | undefined {
  const { entry } = decision.caller
  if (!report || !entry) return undefined
  if (rejection?.code === 'unavailable') return 'Try again in a moment.'
  const { name, of, usage } = report
  const tenant = tenantOf(decision)
  if (name === 'balance') return `Credit it: \`gw wallet credit ${tenant} AMOUNT --reference REF\`.`
  const [kind, owner] = of === 'key' ? (['key', entry.name] as const) : (['tenant', tenant] as const)
  const raise = `raise \`${LIMIT_FIELDS[name]}\` of ${kind}s.${owner}${placeOf(kind, owner, lookup)}`
  const until = waitFor(name, rejection?.retryAfterMs, usage.freshAtMs)
  return until === undefined ? sentence(raise) : `${until}, or ${raise}.`
}

function waitFor(
  name: string,
  retryAfterMs: number | undefined,
  freshAtMs: number | undefined,
): string | undefined {
  if (name === 'concurrency') return 'Wait for a request to end'
  if (name === 'budget' && freshAtMs !== undefined) return `Wait until ${iso(freshAtMs)}, when it starts anew`
  return retryAfterMs === undefined ? undefined : `Wait ${Math.ceil(retryAfterMs / 1_000)} s`
}

function iso(ms: number | undefined): string {
  return ms === undefined ? 'it does' : new Date(ms).toISOString()
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}
