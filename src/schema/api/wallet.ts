import { z } from 'zod'
import { formatNano } from '../../base/decimal.ts'
import { MAX_AMOUNT_NANO } from '../ledger.ts'
import { amountOf } from '../scalars.ts'
import { amount, byName, pageOf, pageQuery, time } from './shapes.ts'
import type { Operation } from './types.ts'

const wallet = z
  .strictObject({
    tenant: z.string(),
    currency: z.string(),
    billing: z.enum(['postpaid', 'prepaid']),
    balance: amount.describe('Credits − debits − what was settled.'),
    held: amount.describe('What open calls hold of it.'),
    available: amount.optional().describe('Of a prepaid tenant: what new calls may still hold.'),
  })
  .meta({ id: 'wallet', description: 'The balance of a tenant.' })

const entry = z
  .strictObject({
    id: z.int(),
    kind: z.enum(['settle', 'credit', 'debit', 'adjust']),
    at: time,
    amount: amount.describe('What it moved the balance by.'),
    reference: z.string().optional(),
    note: z.string().optional(),
    author: z.string().optional(),
    request_id: z.string().optional(),
    key: z.string().optional(),
    model: z.string().optional(),
    price: z
      .record(z.string(), z.string())
      .optional()
      .describe('Of a bill: what it was billed by, per million tokens, per request, per search unit.'),
    flags: z.array(z.string()).describe('Of a bill: `estimated`, `partial`, …'),
  })
  .meta({ id: 'wallet_entry', description: 'What moved a balance.' })

const booking = z
  .strictObject({
    amount: amountOf({ maxNano: MAX_AMOUNT_NANO, isPositive: true }).describe(
      `An exact decimal, more than 0 and at most ${formatNano(MAX_AMOUNT_NANO)}.`,
    ),
    reference: z
      .string()
      .regex(/^[^\p{C}]{1,256}$/u, 'one line of 1 to 256 characters')
      .describe(
        'What it is for: an invoice, a payment. Said again with the same amount it books nothing again.',
      ),
    note: z
      .string()
      .regex(/^[^\p{C}]{1,1024}$/u, 'one line of 1 to 1024 characters')
      .optional()
      .describe('For people.'),
  })
  .meta({ id: 'booking', description: 'A credit or a debit.' })

const booked = z
  .strictObject({
    tenant: z.string(),
    currency: z.string(),
    booked: z.boolean().describe('False where the reference had been booked before.'),
    balance: amount,
    entry,
  })
  .meta({ id: 'booked', description: 'What a credit or a debit has done.' })

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
    summary: 'List what has moved a balance',
    params: byName,
    target: 'tenant',
    query: pageQuery,
    answer: { status: 200, description: 'Newest first.', schema: pageOf(entry) },
  },
  credit_wallet: {
    method: 'POST',
    path: '/tenants/{name}/wallet/credit',
    tag: 'wallet',
    summary: 'Add to a balance, once for each reference',
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
    summary: 'Take from a balance, once for each reference',
    description: 'Never what open calls of a prepaid tenant hold.',
    params: byName,
    target: 'tenant',
    body: booking,
    answer: { status: 200, description: 'The entry, new or old.', schema: booked },
    errors: ['reference_taken', 'balance_too_low'],
  },
} as const satisfies Record<string, Operation>
