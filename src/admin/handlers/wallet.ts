import { bookWallet, showWallet, walletEntries } from '../../services/wallet.ts'
import type { Call, HandlersOf } from '../call.ts'

type Ids = 'get_wallet' | 'list_wallet_entries' | 'credit_wallet' | 'debit_wallet'

export const walletHandlers: HandlersOf<Ids> = {
  async get_wallet({ params, context }) {
    return { body: await showWallet(context, { tenant: params.name }) }
  },
  async list_wallet_entries({ params, query, context }) {
    return { body: await walletEntries(context, { tenant: params.name, ...query }) }
  },
  credit_wallet: book('credit'),
  debit_wallet: book('debit'),
}

function book(kind: 'credit' | 'debit') {
  return async ({ params, body, context }: Call<'credit_wallet'> | Call<'debit_wallet'>) => {
    const { amount: amountNano, reference, note } = body
    const adjustment = {
      tenant: params.name,
      amountNano,
      reference,
      ...(note !== undefined && { note }),
    }
    return { body: await bookWallet(context, kind, adjustment) }
  }
}
