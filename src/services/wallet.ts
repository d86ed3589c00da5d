import { CommandError } from '../base/catalogue/command.ts'
import { formatNano } from '../base/decimal.ts'
import type { OperationOf } from '../schema/api/operations.ts'
import type { AnswerOf } from '../schema/api/types.ts'
import { decode } from '../schema/kinds.ts'
import type { Tenant } from '../schema/tenant.ts'
import { entryToJson } from '../store/ledger/to-json.ts'
import type { Adjustment } from '../store/ledger/types.ts'
import { record } from './audit.ts'
import type { Context } from './context.ts'
import { didYouMean, existingNames } from './names.ts'
import { idBefore, type Page, type PageQuery, pageOf } from './paging.ts'
import { readCurrency } from './settings.ts'

/** The document of a balance. */
export type WalletShown = AnswerOf<OperationOf<'get_wallet'>>

/** The document of a credit, a debit or a correction. */
export type BookedAdjustment = AnswerOf<OperationOf<'credit_wallet'>>

/** The document of one entry. */
export type EntryShown = ReturnType<typeof entryToJson>

/** @throws {CommandError} not_found if the tenant does not exist and has no balance. */
export async function showWallet(
  { store }: Context,
  { tenant }: { readonly tenant: string },
): Promise<WalletShown> {
  const billing = await billingOf(store, tenant)
  const { balanceNano, heldNano } = await store.accounting.wallet(tenant)
  return {
    tenant,
    currency: await readCurrency(store),
    ...(billing && { billing }),
    balance: formatNano(balanceNano),
    held: formatNano(heldNano),
    ...(billing === 'prepaid' && { available: formatNano(balanceNano - heldNano) }),
  }
}

/** The entries of a balance, newest first. @throws {CommandError} not_found as {@link showWallet} */
export async function walletEntries(
  { store }: Context,
  { tenant, ...query }: PageQuery & { readonly tenant: string },
): Promise<Page<EntryShown>> {
  await billingOf(store, tenant)
  return pageOf(
    query,
    (limit, mark) => store.accounting.walletEntries(tenant, { limit, ...idBefore(mark) }),
    entry => entry.id,
    entryToJson,
  )
}

/**
 * Books an amount, once per reference. `credit` adds to a balance, `debit` subtracts from it, but never from the open
 * holds of a prepaid tenant. `adjust` corrects a balance by a signed amount: charges are never changed, but their amount
 * can be refunded.
 *
 * @throws {CommandError} not_found if the tenant does not exist, reference_taken if the reference was used for a different booking,
 * balance_too_low if a prepaid balance does not cover it.
 */
export async function bookWallet(
  context: Context,
  kind: 'credit' | 'debit' | 'adjust',
  adjustment: Omit<Adjustment, 'author'>,
): Promise<BookedAdjustment> {
  const { store, actor, signal } = context
  const { tenant } = adjustment
  if (!(await specOf(store, tenant))) throw await noTenant(store, tenant)
  signal.throwIfAborted()
  const author = actor.name === undefined ? {} : { author: actor.name }
  const { entry, isNew, balanceNano } = await store.accounting[kind]({ ...adjustment, ...author })
  if (isNew) await record(context, { action: `${kind}_wallet`, target: `tenant/${tenant}` })
  return {
    tenant,
    currency: await readCurrency(store),
    booked: isNew,
    balance: formatNano(balanceNano),
    entry: entryToJson(entry),
  }
}

/** Undefined for a deleted tenant with a balance. @throws {CommandError} not_found */
async function billingOf(store: Context['store'], tenant: string): Promise<Tenant['billing'] | undefined> {
  const spec = await specOf(store, tenant)
  // Charges of a deleted tenant may be archived: then its balance is all that is left.
  if (!spec && !(await store.accounting.wallets()).some(wallet => wallet.tenant === tenant))
    throw await noTenant(store, tenant)
  return spec?.billing
}

async function specOf(store: Context['store'], name: string): Promise<Tenant | undefined> {
  const [stored] = (await store.find({ kind: 'tenant', name })).resources
  return stored && decode('tenant', stored.spec)
}

async function noTenant(store: Context['store'], name: string): Promise<CommandError> {
  const live = await store.find({ kind: 'tenant' })
  return new CommandError('not_found', `There is no tenant ${name}.`, {
    hint: didYouMean(live, 'tenant', name) ?? existingNames(live, 'tenant'),
  })
}
