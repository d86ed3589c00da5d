import { CommandError } from '../base/catalogue/command.ts'
import { decode } from '../schema/kinds.ts'
import type { Tenant } from '../schema/tenant.ts'
import type { Adjustment, AdjustmentResult, Wallet, WalletEntry } from '../store/ledger/types.ts'
import type { Live } from '../store/types.ts'
import { record } from './audit.ts'
import { currencyOf } from './currency.ts'
import { didYouMean, whatStands } from './names.ts'
import type { AppPorts } from './ports.ts'
import { loggedIn } from './revision-author.ts'
import { withStore } from './stored.ts'

type ReadPorts = Pick<AppPorts, 'clock' | 'cwd'>
type BookPorts = Pick<AppPorts, 'clock' | 'cwd' | 'environment' | 'signal'>

/** A tenant's wallet, with what it means under the tenant's billing. */
export interface WalletShown extends Wallet {
  readonly currency: string
  /** Absent for a tenant that no longer stands and has left entries. */
  readonly billing?: Tenant['billing']
  /** Of a prepaid tenant: what new calls may still hold. */
  readonly availableNano?: bigint
}

export interface EntriesShown {
  readonly currency: string
  /** Newest first. */
  readonly entries: readonly WalletEntry[]
}

export interface Booked extends AdjustmentResult {
  readonly currency: string
}

/** @throws {CommandError} GW2xxx, GW4005 where no such tenant stands, and none has left anything. */
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

/** @throws {CommandError} GW2xxx, GW4005 where no such tenant stands, and none has left anything. */
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
 * Books a credit, once for its reference. The author is the person who is logged in.
 * @throws {CommandError} GW2xxx, GW4005 without such a tenant, GW4011 where the reference stands for something else
 */
export async function creditWallet(
  adjustment: Omit<Adjustment, 'author'>,
  storeUrl: string,
  ports: BookPorts,
): Promise<Booked> {
  return book('credit', adjustment, storeUrl, ports)
}

/**
 * Books a debit, once for its reference. A prepaid tenant keeps what its open calls hold.
 * @throws {CommandError} as {@link creditWallet} · GW4012 where a prepaid balance does not cover it
 */
export async function debitWallet(
  adjustment: Omit<Adjustment, 'author'>,
  storeUrl: string,
  ports: BookPorts,
): Promise<Booked> {
  return book('debit', adjustment, storeUrl, ports)
}

/**
 * Puts a balance right by a signed amount, once for its reference: a bill that was wrong is never changed, but what
 * it took can be given back. Otherwise as {@link debitWallet}.
 */
export async function adjustWallet(
  adjustment: Omit<Adjustment, 'author'>,
  storeUrl: string,
  ports: BookPorts,
): Promise<Booked> {
  return book('adjust', adjustment, storeUrl, ports)
}

async function book(
  kind: 'credit' | 'debit' | 'adjust',
  adjustment: Omit<Adjustment, 'author'>,
  storeUrl: string,
  ports: BookPorts,
): Promise<Booked> {
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
  return new CommandError('GW4005', `There is no tenant ${name}.`, {
    hint: didYouMean(live, 'tenant', name) ?? whatStands(live, 'tenant'),
  })
}
