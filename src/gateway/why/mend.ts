import type { Kind } from '../../schema/kinds.ts'
import { modelFilter } from '../../snapshot/model-filter.ts'
import type { Background } from './background.ts'
import type { CheckName, Decision, Step } from './decide.ts'

/** Whose check it is, and what is known of it. */
interface Situation {
  readonly step: Step
  readonly decision: Decision
  readonly background: Background
}

type Mend = (situation: Situation) => string | undefined

const MENDS: Readonly<Record<CheckName, Mend>> = {
  key: mendOfKey,
  maintenance: ({ background }) =>
    background.maintenanceByHand
      ? 'End it with `gw maintenance off`.'
      : `Set \`maintenance.enabled: false\` in settings${placeOf('settings', 'settings', background)}.`,
  tenant: ({ decision, background }) => {
    const tenant = tenantOf(decision)
    return `Set \`status: active\` in tenants.${tenant}${placeOf('tenant', tenant, background)}.`
  },
  body: () => undefined,
  ban: mendOfBan,
  listing: mendOfListing,
  models: mendOfModels,
  protocol: mendOfProtocol,
  endpoints: mendOfEndpoints,
  price: ({ decision, background }) => {
    const { model } = decision.wish
    return `Give publications.${model} a \`price\`${placeOf('publication', model, background)}, "0" where it is free on purpose.`
  },
  key_concurrency: mendOfLimit,
  tenant_concurrency: mendOfLimit,
  key_rpm: mendOfLimit,
  tenant_rpm: mendOfLimit,
  key_tpm: mendOfLimit,
  tenant_tpm: mendOfLimit,
  key_quota: mendOfLimit,
  key_budget: mendOfLimit,
  tenant_balance: mendOfLimit,
  ledger: () => 'See the log of the gateway: its database cannot be written.',
}

/**
 * What to change, and where, so that a check no longer refuses: a sentence that names the field and the line, or the
 * command. Where only time helps it says what else would.
 */
export function mendOf(step: Step, decision: Decision, background: Background): string | undefined {
  return step.refusal && MENDS[step.check]({ step, decision, background })
}

/** ` at config/keys.yaml:12`, or the way to what was made by hand; empty where neither is known. */
function placeOf(kind: Kind, name: string, background: Background): string {
  const declared = background.find(kind, name)
  if (!declared) return ''
  if (declared.owner !== 'config') return `, with \`PATCH /api/v1/${kind}s/${name}\``
  return declared.file === undefined ? '' : ` at ${declared.file}:${declared.line}`
}

/** Which of the names and globs of a list match a model: `openai/*`. */
export function patternsFor(
  model: string,
  kind: 'key' | 'tenant',
  name: string,
  field: 'models' | 'banned_models',
  background: Background,
): string {
  const patterns = background.find(kind, name)?.spec[field]
  const matching = Array.isArray(patterns)
    ? patterns.filter(pattern => typeof pattern === 'string' && modelFilter([pattern])(model))
    : []
  return matching.length > 0
    ? matching.map(pattern => `\`${String(pattern)}\``).join(' and ')
    : 'what matches it'
}

function tenantOf({ bearer }: Decision): string {
  return bearer.entry?.tenant?.name ?? ''
}

function mendOfKey({ decision: { bearer }, background }: Situation): string {
  const { entry, refusal } = bearer
  if (!entry) return 'Send the whole secret of a key that there is; `gw keys list` shows the keys.'
  const { name } = entry
  if (refusal) return `Mint its secret with \`gw keys issue ${name}\`.`
  const declared = background.find('key', name)
  const where = placeOf('key', name, background)
  if (entry.enabled) {
    const expiresAt = declared?.spec['expires_at']
    if (typeof expiresAt === 'string' && Date.parse(expiresAt) <= entry.expiresAtMs)
      return `Move \`expires_at: ${expiresAt}\` in keys.${name}${where}.`
    return `Use the newer secret: this one ended with the grace of a rotation. Or mint another with \`gw keys rotate ${name}\`.`
  }
  if (background.isHeld(name)) return `Take the hold away with \`gw keys enable ${name}\`.`
  return `Set \`enabled: true\` in keys.${name}${where}.`
}

function mendOfBan({ decision, background }: Situation): string {
  const { publication, wish } = decision
  if (publication?.status === 'banned') return relist(wish.model, background)
  const tenant = tenantOf(decision)
  const patterns = patternsFor(wish.model, 'tenant', tenant, 'banned_models', background)
  return `Take ${patterns} out of tenants.${tenant}.banned_models${placeOf('tenant', tenant, background)}.`
}

function mendOfListing({ decision: { publication, wish }, background }: Situation): string {
  if (publication) return relist(wish.model, background)
  const meant = background.meant(wish.model)
  const ask = meant === undefined ? '' : `Did you mean \`${meant}\`? `
  return `${ask}There is no publication of this name: declare it under \`publications\`.`
}

function relist(model: string, background: Background): string {
  return `Set \`status: listed\` in publications.${model}${placeOf('publication', model, background)}.`
}

function mendOfModels({ decision, background }: Situation): string {
  const { bearer, wish } = decision
  const tenant = tenantOf(decision)
  const ofKey = bearer.entry !== undefined && !bearer.entry.mayUse(wish.model)
  const [kind, name] = ofKey ? (['key', bearer.entry?.name ?? ''] as const) : (['tenant', tenant] as const)
  return `Add \`${wish.model}\` to ${kind}s.${name}.models${placeOf(kind, name, background)}.`
}

function mendOfProtocol({ decision: { publication, path, wish }, background }: Situation): string {
  const other = path.protocol === 'openai' ? 'anthropic' : 'openai'
  const place = placeOf('publication', wish.model, background)
  const bind = `bind an endpoint of protocol ${path.protocol} to publications.${wish.model}${place}`
  if (!publication || publication.targets[other].length === 0) return sentence(bind)
  const home = other === 'openai' ? '/v1/chat/completions' : '/v1/messages'
  return `Call ${home}, or ${bind}.`
}

function mendOfEndpoints({ decision: { candidates, wish }, background }: Situation): string {
  const parts = candidates.map(({ target, obstacle, health }) => {
    const { name } = target.endpoint
    const place = placeOf('endpoint', name, background)
    if (obstacle === 'disabled') return `set \`enabled: true\` in endpoints.${name}${place}`
    if (obstacle === 'unweighted')
      return `give the binding of ${name} a weight${placeOf('publication', wish.model, background)}`
    if (obstacle === 'full')
      return `raise \`max_concurrency\` of endpoints.${name}${place}, or wait for a request to end`
    if (obstacle === 'resting') return `wait until ${iso(health.restingUntilMs)}, as ${name} asked for`
    return `see what ails ${name}: \`gw probe ${name}\``
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

function mendOfLimit({ step: { reading, refusal }, decision, background }: Situation): string | undefined {
  const { entry } = decision.bearer
  if (!reading || !entry) return undefined
  if (refusal?.code === 'unavailable') return 'Ask again in a moment.'
  const { name, of, figures } = reading
  const tenant = tenantOf(decision)
  if (name === 'balance') return `Credit it: \`gw wallet credit ${tenant} AMOUNT --reference REF\`.`
  const [kind, owner] = of === 'key' ? (['key', entry.name] as const) : (['tenant', tenant] as const)
  const raise = `raise \`${LIMIT_FIELDS[name]}\` of ${kind}s.${owner}${placeOf(kind, owner, background)}`
  const until = waitFor(name, refusal?.retryAfterMs, figures.freshAtMs)
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
