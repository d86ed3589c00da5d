import { CommandError } from '../base/catalogue/command.ts'
import { decode } from '../schema/kinds.ts'
import type { Tenant } from '../schema/tenant.ts'
import type { Adjustment, AdjustmentResult, Wallet, WalletEntry } from '../store/ledger/types.ts'
import type { Live } from '../store/types.ts'
import { record } from './audit.ts'
import type { AppPorts } from './context.ts'
import { currencyOf } from './currency.ts'
import { didYouMean, existingNames } from './names.ts'
import { loggedIn } from './revision-author.ts'
import { withStore } from './stored.ts'

type ReadPorts = Pick<AppPorts, 'clock' | 'cwd'>
type WritePorts = Pick<AppPorts, 'clock' | 'cwd' | 'environment' | 'signal'>

/** A tenant's wallet, interpreted by the tenant's billing mode. */
export interface WalletShown extends Wallet {
  readonly currency: string
  /** Absent for a deleted tenant with ledger entries. */
  readonly billing?: Tenant['billing']
  /** Of a prepaid tenant: the amount that new calls may still hold. */
  readonly availableNano?: bigint
}

export interface EntriesShown {
  readonly currency: string
  /** Newest first. */
  readonly entries: readonly WalletEntry[]
}

export interface BookedAdjustment extends AdjustmentResult {
  readonly currency: string
}

/** @throws {CommandError} store_…, not_found if the tenant does not exist and has no entries. */
export async function showWallet(tenant: string, storeUrl: string, ports: ReadPorts): Promise<WalletShown> {
  return withStore(storeUrl, 'read', ports, async store => {
    const live = await store.live()
    const wallet = await store.accounting.wallet(tenant)
    const spec = tenantSpec(live, tenant)
    if (!spec && (await store.accounting.walletEntries(tenant, { limit: 1 })).length === 0)
      throw noTenant(live, tenant)
    return {
      ...wallet,
      currency: currencyOf(live),
      ...(spec && { billing: spec.billing }),
      ...(spec?.billing === 'prepaid' && { availableNano: wallet.balanceNano - wallet.heldNano }),
    }
  })
}

/** @throws {CommandError} store_…, not_found if the tenant does not exist and has no entries. */
export async function walletEntries(
  tenant: string,
  limit: number,
  storeUrl: string,
  ports: ReadPorts,
): Promise<EntriesShown> {
  return withStore(storeUrl, 'read', ports, async store => {
    const live = await store.live()
    const entries = await store.accounting.walletEntries(tenant, { limit })
    if (entries.length === 0 && !tenantSpec(live, tenant)) throw noTenant(live, tenant)
    return { currency: currencyOf(live), entries }
  })
}

/**
 * Books a credit, once per reference. The author is the user logged in to this machine.
 * @throws {CommandError} store_…, not_found if the tenant does not exist, reference_taken if the reference was used for a different
 * booking
 */
export async function creditWallet(
  adjustment: Omit<Adjustment, 'author'>,
  storeUrl: string,
  ports: WritePorts,
): Promise<BookedAdjustment> {
  return book('credit', adjustment, storeUrl, ports)
}

/**
 * Books a debit, once per reference. The open holds of a prepaid tenant stay covered.
 * @throws {CommandError} as {@link creditWallet} · balance_too_low if a prepaid balance does not cover it
 */
export async function debitWallet(
  adjustment: Omit<Adjustment, 'author'>,
  storeUrl: string,
  ports: WritePorts,
): Promise<BookedAdjustment> {
  return book('debit', adjustment, storeUrl, ports)
}

/**
 * Corrects a balance by a signed amount, once per reference: charges are never changed, but their amount can be
 * refunded. Otherwise like {@link debitWallet}.
 */
export async function adjustWallet(
  adjustment: Omit<Adjustment, 'author'>,
  storeUrl: string,
  ports: WritePorts,
): Promise<BookedAdjustment> {
  return book('adjust', adjustment, storeUrl, ports)
}

async function book(
  kind: 'credit' | 'debit' | 'adjust',
  adjustment: Omit<Adjustment, 'author'>,
  storeUrl: string,
  ports: WritePorts,
): Promise<BookedAdjustment> {
  ports.signal.throwIfAborted()
  return withStore(storeUrl, 'write', ports, async store => {
    const live = await store.live()
    if (!tenantSpec(live, adjustment.tenant)) throw noTenant(live, adjustment.tenant)
    const signed = { ...adjustment, ...loggedIn(ports.environment) }
    ports.signal.throwIfAborted()
    const booked = await store.accounting[kind](signed)
    if (booked.isNew)
      await record(store, { action: `${kind}_wallet`, target: `tenant/${adjustment.tenant}` }, ports)
    return { ...booked, currency: currencyOf(live) }
  })
}

function tenantSpec(live: Live, name: string): Tenant | undefined {
  const stored = live.resources.find(resource => resource.kind === 'tenant' && resource.name === name)
  return stored && decode('tenant', stored.spec)
}

function noTenant(live: Live, name: string): CommandError {
  return new CommandError('not_found', `There is no tenant ${name}.`, {
    hint: didYouMean(live, 'tenant', name) ?? existingNames(live, 'tenant'),
  })
}
