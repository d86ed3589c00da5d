import type { Background } from './background.ts'
import type { CheckName, Decision, Step } from './decide.ts'
import { patternsFor } from './mend.ts'

type Detail = (decision: Decision, background: Background, step: Step) => string

/** What each check looks at, in a few words. */
const DETAILS: Readonly<Record<CheckName, Detail>> = {
  key: ({ bearer: { entry, refusal } }) => {
    if (!entry) return 'the secret of no key'
    if (refusal) return `key ${entry.name} has no secret`
    return entry.enabled
      ? `key ${entry.name}, ${expiryOf(entry.expiresAtMs)}`
      : `key ${entry.name} is disabled`
  },
  maintenance: (_decision, _background, { refusal }) => (refusal ? 'in maintenance' : 'no maintenance'),
  tenant: ({ bearer: { entry } }) =>
    entry?.tenant ? `tenant ${entry.tenant.name} is ${entry.tenant.status}` : 'no tenant',
  body: () => 'a JSON object within the limit of size',
  ban: ({ bearer: { entry }, publication, wish: { model } }, background) => {
    if (publication?.status === 'banned') return `publication ${model} is banned`
    const { tenant } = entry ?? {}
    if (!publication || !tenant?.isBanned(model)) return 'not banned'
    const patterns = patternsFor(model, 'tenant', tenant.name, 'banned_models', background)
    return `banned for tenant ${tenant.name} by ${patterns}`
  },
  listing: ({ publication, wish: { model } }) =>
    publication ? `publication ${model} is ${publication.status}` : `no publication ${model}`,
  models: ({ bearer: { entry }, wish: { model } }, background) => {
    if (!entry) return 'the models of the key'
    const { name, tenant } = entry
    if (!entry.mayUse(model)) return `key ${name} may not use it`
    if (tenant && !tenant.mayUse(model)) return `tenant ${tenant.name} may not use it`
    const byKey = `key ${name} by ${patternsFor(model, 'key', name, 'models', background)}`
    if (!tenant) return byKey
    return `${byKey}, tenant ${tenant.name} by ${patternsFor(model, 'tenant', tenant.name, 'models', background)}`
  },
  protocol: ({ path, candidates }) => `${path.path}: ${candidates.length} bound that speak ${path.protocol}`,
  endpoints: ({ candidates }) => {
    const usable = candidates.filter(({ obstacle }) => obstacle === undefined).length
    return `${usable} of ${candidates.length} usable`
  },
  price: () => 'required by settings.require_price',
  key_concurrency: () => 'requests at a time, of the key',
  tenant_concurrency: () => 'requests at a time, of the tenant',
  key_rpm: (_decision, _background, step) => `requests per minute, of the key${burstOf(step)}`,
  tenant_rpm: (_decision, _background, step) => `requests per minute, of the tenant${burstOf(step)}`,
  key_tpm: (_decision, _background, step) => `tokens per minute, of the key${burstOf(step)}`,
  tenant_tpm: (_decision, _background, step) => `tokens per minute, of the tenant${burstOf(step)}`,
  key_quota: () => 'tokens for life, of the key',
  key_budget: () => 'budget of the key',
  tenant_balance: () => 'prepaid balance of the tenant',
  ledger: (_decision, _background, { refusal }) =>
    refusal ? 'bills cannot be written' : 'bills can be written',
}

export function detailOf(step: Step, decision: Decision, background: Background): string {
  return DETAILS[step.check](decision, background, step)
}

/** The bound of a rate whose burst is not its limit. */
function burstOf({ reading }: Step): string {
  const { limit, burst } = reading?.figures ?? {}
  if (limit === undefined || burst === undefined) return ''
  return `: any t seconds admit at most ${burst} + ${limit} × t / 60`
}

function expiryOf(expiresAtMs: number): string {
  return Number.isFinite(expiresAtMs) ? `until ${new Date(expiresAtMs).toISOString()}` : 'without an end'
}
