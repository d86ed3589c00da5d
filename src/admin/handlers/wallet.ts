import { formatNano } from '../../base/decimal.ts'
import { decode } from '../../schema/kinds.ts'
import { entryToJson } from '../../store/ledger/to-json.ts'
import type { Adjustment } from '../../store/ledger/types.ts'
import type { Call, HandlersOf } from '../call.ts'
import { idBefore, pageOf } from '../paging.ts'
import type { UseCasePorts } from '../ports.ts'
import { find } from '../resources.ts'

type Ids = 'get_wallet' | 'list_wallet_entries' | 'credit_wallet' | 'debit_wallet'

/** The parts of a call that credits and debits use. */
type Booking = Pick<Call<'credit_wallet'>, 'params' | 'body' | 'caller' | 'store' | 'markUnchanged'>

export function walletHandlers(ports: UseCasePorts): HandlersOf<Ids> {
  const { accounting } = ports.store

  const billingOf = async (name: string) => {
    const { resource } = await find(ports, 'tenant', name)
    return decode('tenant', resource.spec).billing
  }

  const book =
    (kind: 'credit' | 'debit') =>
    async ({ params, body, caller, store, markUnchanged }: Booking) => {
      await billingOf(params.name)
      const adjustment: Adjustment = {
        tenant: params.name,
        amountNano: body.amount,
        reference: body.reference,
        author: caller.name,
        ...(body.note !== undefined && { note: body.note }),
      }
      const booked = await store.accounting[kind](adjustment)
      if (!booked.isNew) markUnchanged()
      return {
        body: {
          tenant: params.name,
          currency: await ports.currency(),
          booked: booked.isNew,
          balance: formatNano(booked.balanceNano),
          entry: entryToJson(booked.entry),
        },
      }
    }

  return {
    async get_wallet({ params: { name } }) {
      const billing = await billingOf(name)
      const { balanceNano, heldNano } = await accounting.wallet(name)
      return {
        body: {
          tenant: name,
          currency: await ports.currency(),
          billing,
          balance: formatNano(balanceNano),
          held: formatNano(heldNano),
          ...(billing === 'prepaid' && { available: formatNano(balanceNano - heldNano) }),
        },
      }
    },
    async list_wallet_entries({ params: { name }, query }) {
      await billingOf(name)
      return {
        body: await pageOf(
          query,
          (limit, mark) => accounting.walletEntries(name, { limit, ...idBefore(mark) }),
          entry => entry.id,
          entryToJson,
        ),
      }
    },
    credit_wallet: book('credit'),
    debit_wallet: book('debit'),
  }
}
