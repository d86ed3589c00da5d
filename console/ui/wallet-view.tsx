import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiFailure, dataOf } from '../api/client.ts'
import { useConsole, useSession } from '../api/context.ts'
import { Dialog } from './dialog.tsx'
import { TextField } from './fields.tsx'
import { clockTime, money } from './format.ts'
import { Failure, Loaded, Section } from './page.tsx'
import { PagedTable } from './table.tsx'
import { Tile } from './tile.tsx'

type Kind = 'credit' | 'debit'

const KINDS = {
  settle: 'charge',
  credit: 'credit',
  debit: 'debit',
  adjust: 'adjustment',
} as const

/** The balance of a tenant, what changed it, and for administrators credits and debits. */
export function WalletView({ tenant }: { readonly tenant: string }) {
  const { queries } = useConsole()
  const { can } = useSession()
  const wallet = useQuery(queries.wallet(tenant))
  const entries = useInfiniteQuery(queries.walletEntries(tenant))
  const [booking, setBooking] = useState<Kind>()
  return (
    <>
      <Loaded query={wallet}>
        {({ balance, held, available, billing, currency }) => (
          <div className="tiles">
            <Tile label="Balance" value={money(balance, currency)} note={billing} />
            <Tile label="Reserved by open calls" value={money(held, currency)} />
            {available !== undefined && (
              <Tile label="Available" value={money(available, currency)} note="what new calls can reserve" />
            )}
          </div>
        )}
      </Loaded>
      <Section
        title="Wallet"
        note="charges, credits and debits, newest first"
        actions={
          can('credit_wallet') && (
            <>
              <button type="button" className="button" onClick={() => setBooking('credit')}>
                Credit
              </button>
              <button type="button" className="button" onClick={() => setBooking('debit')}>
                Debit
              </button>
            </>
          )
        }
      >
        <PagedTable
          label="Entries of the wallet"
          query={entries}
          keyOf={({ id }) => String(id)}
          empty="Nothing was charged or credited yet."
          columns={[
            { head: 'When', cell: ({ at }) => clockTime(at) },
            { head: 'Entry', cell: ({ kind }) => KINDS[kind] },
            { head: 'Amount', cell: ({ amount }) => money(amount), isNumber: true },
            {
              head: 'For',
              cell: ({ reference, note, model, key }) => (
                <>
                  {reference ?? model}
                  {(note ?? key) !== undefined && <span className="second">{note ?? key}</span>}
                </>
              ),
            },
            { head: 'By', cell: ({ author }) => author ?? '', hidden: 'phone' },
          ]}
        />
      </Section>
      {booking && <BookingDialog tenant={tenant} kind={booking} onClose={() => setBooking(undefined)} />}
    </>
  )
}

/** A credit or a debit: its reference makes sure that it is booked once, however often it is sent. */
function BookingDialog({
  tenant,
  kind,
  onClose,
}: {
  readonly tenant: string
  readonly kind: Kind
  readonly onClose: () => void
}) {
  const { api } = useConsole()
  const client = useQueryClient()
  const [amount, setAmount] = useState('')
  const [reference, setReference] = useState('')
  const [note, setNote] = useState('')
  const booking = useMutation({
    mutationFn: () => {
      const params = { path: { name: tenant } }
      const body = { amount, reference, ...(note !== '' && { note }) }
      return dataOf(
        kind === 'credit'
          ? api.POST('/api/v1/tenants/{name}/wallet/credit', { params, body })
          : api.POST('/api/v1/tenants/{name}/wallet/debit', { params, body }),
      )
    },
    onSuccess: ({ booked }) => {
      void client.invalidateQueries({ queryKey: ['wallets'] })
      if (booked) onClose()
    },
  })
  const fieldError = (pointer: string) =>
    booking.error instanceof ApiFailure ? booking.error.fieldError(pointer) : undefined
  return (
    <Dialog title={`${kind === 'credit' ? 'Credit' : 'Debit'} ${tenant}`} isOpen onClose={onClose}>
      <form
        onSubmit={event => {
          event.preventDefault()
          booking.mutate()
        }}
      >
        <div className="stack">
          {booking.error && <Failure error={booking.error} />}
          {booking.data?.booked === false && (
            <p className="notice warn">
              An entry with this reference and amount exists already: nothing was booked again.
            </p>
          )}
          <TextField
            label="Amount"
            inputMode="decimal"
            required
            autoComplete="off"
            value={amount}
            onChange={setAmount}
            error={fieldError('/amount')}
            hint={kind === 'credit' ? 'Added to the balance.' : 'Taken from the balance.'}
          />
          <TextField
            label="Reference"
            required
            autoComplete="off"
            value={reference}
            onChange={setReference}
            error={fieldError('/reference')}
            hint="Such as an invoice. It is booked once, however often it is sent."
          />
          <TextField
            label="Note"
            autoComplete="off"
            value={note}
            onChange={setNote}
            error={fieldError('/note')}
          />
        </div>
        <footer className="actions">
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="button primary" disabled={booking.isPending}>
            {kind === 'credit' ? 'Credit' : 'Debit'}
          </button>
        </footer>
      </form>
    </Dialog>
  )
}
