import { GwError } from '../base/catalogue/wire.ts'
import { isFree } from '../schema/cost.ts'
import type { Price } from '../schema/ledger.ts'
import type { KeyEntry, PublicationEntry, Snapshot } from '../snapshot/types.ts'

/** The `retry-after` during maintenance. */
const MAINTENANCE_RETRY_MS = 30_000

/** Proof that a key may call a model; later stages require it as an argument. */
export interface Permit {
  readonly key: KeyEntry
  readonly publication: PublicationEntry
}

/**
 * The checks that do not need the body.
 *
 * @throws {GwError} maintenance; tenant_disabled, tenant_banned.
 */
export function checkStanding(key: KeyEntry, snapshot: Snapshot): void {
  checkMaintenance(snapshot)
  checkTenant(key)
}

export function checkMaintenance({ maintenance }: Snapshot): void {
  if (maintenance !== undefined)
    throw new GwError('maintenance', maintenance, { retryAfterMs: MAINTENANCE_RETRY_MS })
}

export function checkTenant({ tenant }: KeyEntry): void {
  if (tenant?.status === 'disabled') throw new GwError('tenant_disabled')
  if (tenant?.status === 'banned') throw new GwError('tenant_banned')
}

/**
 * @param model The name in the request, compared byte for byte.
 * @throws {GwError} model_banned, model_not_found, model_not_allowed, in this order.
 */
export function admit(key: KeyEntry, snapshot: Snapshot, model: string): Permit {
  const found = snapshot.publications.get(model)
  checkBan(key, found, model)
  const publication = checkListed(found, model)
  checkModels(key, model)
  return { key, publication }
}

export function checkBan(key: KeyEntry, publication: PublicationEntry | undefined, model: string): void {
  if (publication?.status === 'banned' || (publication && key.tenant?.isBanned(model)))
    throw new GwError('model_banned', `The model \`${model}\` is banned.`)
}

export function checkListed(publication: PublicationEntry | undefined, model: string): PublicationEntry {
  if (publication?.status !== 'listed')
    throw new GwError('model_not_found', `The model \`${model}\` does not exist, or is not listed.`)
  return publication
}

export function checkModels(key: KeyEntry, model: string): void {
  if (!mayUse(key, model))
    throw new GwError('model_not_allowed', `This key may not use the model \`${model}\`.`)
}

/**
 * Enforces `settings.require_price`: a model without a price is not free by accident.
 *
 * @param price the one in force; see `priceAt`.
 * @param amountNano of the call's estimate: 0 if the price names none of its units.
 * @throws {GwError} model_not_priced.
 */
export function checkPriced(
  { requirePrice, name }: PublicationEntry,
  price: Price | undefined,
  amountNano: bigint,
): void {
  const isPriced = price !== undefined && (amountNano > 0n || isFree(price))
  if (requirePrice && !isPriced)
    throw new GwError(
      'model_not_priced',
      `The model \`${name}\` has no price for this call, and this gateway requires one.`,
    )
}

/** Whether `GET /v1/models` shows a publication to this key: it is listed, and the key may call it. */
export function isVisible(key: KeyEntry, publication: PublicationEntry): boolean {
  return (
    publication.status === 'listed' &&
    (!publication.requirePrice || publication.prices.length > 0) &&
    !key.tenant?.isBanned(publication.name) &&
    mayUse(key, publication.name)
  )
}

function mayUse(key: KeyEntry, model: string): boolean {
  return key.mayUse(model) && (key.tenant?.mayUse(model) ?? true)
}
