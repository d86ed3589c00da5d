import { z } from 'zod'
import { formatNano } from '../../base/decimal.ts'
import { MAX_AMOUNT_NANO } from '../ledger.ts'
import { amountOf } from '../scalars.ts'
import { amount, byName, pageOf, pageQuery, time, usedUnits } from './shapes.ts'
import type { Operation } from './types.ts'

const wallet = z
  .strictObject({
    tenant: z.string(),
    currency: z.string(),
    billing: z.enum(['postpaid', 'prepaid']).optional().describe('Absent for a deleted tenant.'),
    balance: amount.describe('Credits − debits − settlements.'),
    held: amount.describe('The part that open calls reserve.'),
    available: amount.optional().describe('Only for prepaid tenants: the part that new calls can reserve.'),
  })
  .meta({ id: 'wallet', description: 'The balance of a tenant.' })

const entry = z
  .strictObject({
    id: z.int(),
    kind: z.enum(['settle', 'credit', 'debit', 'adjust']),
    at: time,
    amount: amount.describe('The change of the balance.'),
    reference: z.string().optional(),
    note: z.string().optional(),
    author: z.string().optional(),
    request_id: z.string().optional(),
    key: z.string().optional(),
    model: z.string().optional(),
    ...usedUnits,
    price: z
      .record(z.string(), z.string())
      .optional()
      .describe('Only for charges: the price, per million tokens and for each of the other units.'),
    flags: z.array(z.string()).describe('Only for charges: `estimated`, `partial`, …'),
  })
  .meta({ id: 'wallet_entry', description: 'A change of a balance.' })

const booking = z
  .strictObject({
    amount: amountOf({ maxNano: MAX_AMOUNT_NANO, isPositive: true }).describe(
      `An exact decimal, more than 0 and at most ${formatNano(MAX_AMOUNT_NANO)}.`,
    ),
    reference: z
      .string()
      .regex(/^[^\p{C}]{1,256}$/u, 'one line of 1 to 256 characters')
      .describe(
        'Its purpose, such as an invoice or a payment. Repeated with the same amount, it has no effect.',
      ),
    note: z
      .string()
      .regex(/^[^\p{C}]{1,1024}$/u, 'one line of 1 to 1024 characters')
      .optional()
      .describe('A free note.'),
  })
  .meta({ id: 'booking', description: 'A credit or a debit.' })

const booked = z
  .strictObject({
    tenant: z.string(),
    currency: z.string(),
    booked: z.boolean().describe('False if the reference already existed.'),
    balance: amount,
    entry,
  })
  .meta({ id: 'booked', description: 'The result of a credit or a debit.' })

export const walletOperations = {
  get_wallet: {
    method: 'GET',
    path: '/tenants/{name}/wallet',
    tag: 'wallet',
    summary: 'Show a balance',
    params: byName,
    target: 'tenant',
    answer: { status: 200, description: 'The wallet.', schema: wallet },
  },
  list_wallet_entries: {
    method: 'GET',
    path: '/tenants/{name}/wallet/entries',
    tag: 'wallet',
    summary: 'List the entries of a balance',
    params: byName,
    target: 'tenant',
    query: pageQuery,
    answer: { status: 200, description: 'Newest first.', schema: pageOf(entry) },
  },
  credit_wallet: {
    method: 'POST',
    path: '/tenants/{name}/wallet/credit',
    tag: 'wallet',
    summary: 'Add to a balance, once per reference',
    params: byName,
    target: 'tenant',
    body: booking,
    answer: { status: 200, description: 'The entry, new or old.', schema: booked },
    errors: ['reference_taken'],
  },
  debit_wallet: {
    method: 'POST',
    path: '/tenants/{name}/wallet/debit',
    tag: 'wallet',
    summary: 'Subtract from a balance, once per reference',
    description: 'The part of a prepaid balance that open calls reserve cannot be debited.',
    params: byName,
    target: 'tenant',
    body: booking,
    answer: { status: 200, description: 'The entry, new or old.', schema: booked },
    errors: ['reference_taken', 'balance_too_low'],
  },
} as const satisfies Record<string, Operation>
