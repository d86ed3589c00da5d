import type { LimitReport } from '../../limits/limits.ts'
import type { FixedCheck } from '../../schema/api/why.ts'
import type { CheckResult, Decision } from './decide.ts'
import { patternsFor } from './hint.ts'
import type { WhyLookup } from './lookup.ts'

type Detail = (decision: Decision, lookup: WhyLookup, step: CheckResult) => string

/** A short description of each check's subject. */
const DETAILS: Readonly<Record<FixedCheck, Detail>> = {
  key: ({ caller: { entry, rejection } }) => {
    if (!entry) return 'the secret of no key'
    if (rejection) return `key ${entry.name} has no secret`
    return entry.enabled
      ? `key ${entry.name}, ${expiryOf(entry.expiresAtMs)}`
      : `key ${entry.name} is disabled`
  },
  maintenance: (_decision, _lookup, { rejection }) => (rejection ? 'in maintenance' : 'no maintenance'),
  tenant: ({ caller: { entry } }) =>
    entry?.tenant ? `tenant ${entry.tenant.name} is ${entry.tenant.status}` : 'no tenant',
  body: () => 'a JSON object within the limit of size',
  ban: ({ caller: { entry }, publication, callOptions: { model } }, lookup) => {
    if (publication?.status === 'banned') return `publication ${model} is banned`
    const { tenant } = entry ?? {}
    if (!publication || !tenant?.isBanned(model)) return 'not banned'
    const patterns = patternsFor(model, 'tenant', tenant.name, 'banned_models', lookup)
    return `banned for tenant ${tenant.name} by ${patterns}`
  },
  listing: ({ publication, callOptions: { model } }) =>
    publication ? `publication ${model} is ${publication.status}` : `no publication ${model}`,
  models: ({ caller: { entry }, callOptions: { model } }, lookup) => {
    if (!entry) return 'the models of the key'
    const { name, tenant } = entry
    if (!entry.mayUse(model)) return `key ${name} may not use it`
    if (tenant && !tenant.mayUse(model)) return `tenant ${tenant.name} may not use it`
    const byKey = `key ${name} by ${patternsFor(model, 'key', name, 'models', lookup)}`
    if (!tenant) return byKey
    return `${byKey}, tenant ${tenant.name} by ${patternsFor(model, 'tenant', tenant.name, 'models', lookup)}`
  },
  protocol: ({ path, candidates }) => `${path.path}: ${candidates.length} bound that speak ${path.protocol}`,
  endpoints: ({ candidates }) => {
    const usable = candidates.filter(({ obstacle }) => obstacle === undefined).length
    return `${usable} of ${candidates.length} usable`
  },
  price: () => 'required by settings.require_price',
  ledger: (_decision, _lookup, { rejection }) =>
    rejection ? 'bills cannot be written' : 'bills can be written',
}

export function detailOf(step: CheckResult, decision: Decision, lookup: WhyLookup): string {
  if (step.report) return detailOfLimit(step.report)
  return DETAILS[step.check](decision, lookup, step)
}

/** The limit and its owner; with the formula of a rate whose burst differs from its limit. */
function detailOfLimit({ info, of, usage: { limit, burst } }: LimitReport): string {
  const title = `${info.title} of the ${of}`
  if (limit === undefined || burst === undefined) return title
  return `${title}: any t seconds admit at most ${burst} + ${limit} × t / 60`
}

function expiryOf(expiresAtMs: number): string {
  return Number.isFinite(expiresAtMs) ? `until ${new Date(expiresAtMs).toISOString()}` : 'without an end'
}
