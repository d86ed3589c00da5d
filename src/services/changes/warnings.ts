import { formatNano } from '../../base/decimal.ts'
import { iso } from '../../base/iso.ts'
import { decode, type Resource } from '../../schema/kinds.ts'
import { resourceId } from '../../store/resources.ts'
import type { Live, SourceLine } from '../../store/types.ts'
import { currencyOf } from '../settings.ts'
import { comingPrices, moveText, pricedFromMs } from './blast/prices.ts'
import { publicationsInUse } from './blast/radius.ts'
import { activeSecrets } from './key-view.ts'
import type { PlanWarning } from './types.ts'

/** How far ahead a plan reports coming prices. */
const COMING_MS = 30 * 86_400_000

type Placed = Resource & { readonly place?: SourceLine }

/**
 * Warnings about valid but rarely intended states `after` an apply of `desired`. Reports only those that the change
 * introduces, each at the line of its resource.
 *
 * @param own the resources of `live` that the same apply owns.
 */
export function planWarnings(
  live: Live,
  after: readonly Resource[],
  desired: readonly Placed[],
  own: readonly Resource[],
): PlanWarning[] {
  const identity = ({ code, kind, name, message }: PlanWarning) => [code, kind, name, message].join(' ')
  const before = new Set(warningsOf(live, live.resources, own).map(identity))
  const places = new Map(desired.map(resource => [resourceId(resource), resource.place]))
  return warningsOf(live, after, desired)
    .filter(warning => !before.has(identity(warning)))
    .map(warning => {
      const place = places.get(resourceId(warning))
      return place ? { ...warning, place: { file: place.file, line: place.line } } : warning
    })
}

function warningsOf(live: Live, after: readonly Resource[], desired: readonly Resource[]): PlanWarning[] {
  const active = activeSecrets(live)
  const usableBefore = publicationsInUse(live.resources)
  const usableAfter = publicationsInUse(after)
  const declared = new Set(desired.filter(({ kind }) => kind === 'publication').map(({ name }) => name))
  const warnings: PlanWarning[] = []
  const requires = (resources: readonly Resource[]) =>
    resources.some(({ kind, spec }) => kind === 'settings' && spec['require_price'] === true)
  const isRequired = requires(after)
  // Then it concerns every set.
  const isNewlyRequired = isRequired && !requires(live.resources)
  for (const { kind, name, spec } of after) {
    if (kind !== 'publication' || spec['status'] !== 'listed') continue
    // A free publication must be a decision, not an omission (spec/money.md §2).
    if ((declared.has(name) || isNewlyRequired) && Object.keys(spec['price'] ?? {}).length === 0) {
      const message = isRequired
        ? 'no price: its calls are rejected, for `settings.require_price`'
        : 'no price: it is free and counted as unpriced'
      warnings.push({ code: 'unpriced', kind, name, message })
    } else if (declared.has(name)) warnings.push(...datedPrices({ name, spec }, live.atMs, isRequired))
    // Of other owners, only what this apply breaks.
    if (!usableAfter.has(name) && (declared.has(name) || usableBefore.has(name))) {
      warnings.push({
        code: 'no_endpoint',
        kind,
        name,
        message: 'no enabled endpoint serves it: calls answer 503',
      })
    }
  }
  for (const { kind, name, spec } of desired) {
    if (kind !== 'key' || spec['enabled'] === false || 'hash' in spec || 'secret' in spec) continue
    if (active.has(name)) continue
    warnings.push({
      code: 'no_secret',
      kind,
      name,
      message: `no secret yet: \`gw keys issue ${name}\` mints one`,
    })
  }
  return [
    ...warnings,
    ...usersDisabled(live, after),
    ...walletsLeft(live, after),
    ...currencyChanged(live, after),
    ...maintenanceBegins(after),
  ]
}

/** The users who can no longer log in, because their tenant is deleted. */
function usersDisabled({ resources, tenantUsers = [] }: Live, after: readonly Resource[]): PlanWarning[] {
  const kept = new Set(after.filter(({ kind }) => kind === 'tenant').map(({ name }) => name))
  return resources.flatMap(({ kind, name }): PlanWarning[] => {
    if (kind !== 'tenant' || kept.has(name)) return []
    const users = tenantUsers.filter(({ tenant }) => tenant === name).map(user => user.name)
    if (users.length === 0) return []
    const message = `its users are disabled and their sessions end: ${users.join(', ')}`
    return [{ code: 'users_disabled', kind, name, message }]
  })
}

/** The balance of a deleted tenant: a delete plus a create is not a rename, and leaves the balance behind. */
function walletsLeft({ resources, balances = [] }: Live, after: readonly Resource[]): PlanWarning[] {
  const kept = new Set(after.filter(({ kind }) => kind === 'tenant').map(({ name }) => name))
  const currency = currencyOf(resources)
  return balances.flatMap(({ tenant: name, balanceNano }): PlanWarning[] => {
    if (kept.has(name)) return []
    const message =
      `its wallet keeps ${formatNano(balanceNano)} ${currency}; ` +
      `if this is a rename, add \`previous_name: ${name}\` to the new tenant`
    return [{ code: 'wallet_left', kind: 'tenant', name, message }]
  })
}

/** Amounts have no currency of their own: a new one is the label of all that is booked as well. */
function currencyChanged({ head, resources }: Live, after: readonly Resource[]): PlanWarning[] {
  const [before, now] = [currencyOf(resources), currencyOf(after)]
  if (head.revision === 0 || before === now) return []
  const message =
    `all amounts so far, ${before} until now, are shown as ${now}, also balances and budgets: nothing is converted; ` +
    'archive the ledger and correct the balances first, or use another store'
  return [{ code: 'currency_changed', kind: 'settings', name: 'settings', message }]
}

function maintenanceBegins(after: readonly Resource[]): PlanWarning[] {
  const settings = after.find(({ kind }) => kind === 'settings')
  if (!settings || !decode('settings', settings.spec).maintenance.enabled) return []
  const message = 'maintenance is on: every call of inference answers 503'
  return [{ code: 'maintenance', kind: 'settings', name: 'settings', message }]
}

/** The price changes that a calendar brings. */
function datedPrices(
  publication: Pick<Resource, 'name' | 'spec'>,
  nowMs: number,
  isRequired: boolean,
): PlanWarning[] {
  const { name, spec } = publication
  const firstMs = pricedFromMs(spec, nowMs)
  const unpriced =
    firstMs === undefined
      ? []
      : [
          `no price until ${iso(firstMs)}: ${isRequired ? 'its calls are rejected, for `settings.require_price`' : 'it is free and counted as unpriced'}`,
        ]
  const coming = comingPrices(publication, nowMs, nowMs + COMING_MS)
  return [
    ...unpriced.map(message => ({ code: 'unpriced', kind: 'publication', name, message }) as const),
    ...coming.map(price => {
      const moves = price.moves.map(moveText).join(', ')
      const message = `from ${startText(price.fromMs)} on: ${moves || 'the same price'}`
      return { code: 'price_from', kind: 'publication', name, message } as const
    }),
  ]
}

/** A time without the parts that are zero: `2026-01-01T12:30Z`, `2026-01-01`. */
function startText(ms: number): string {
  return iso(ms)
    .replace(/:00\.000Z$/, 'Z')
    .replace('T00:00Z', '')
}
