import type { Command } from 'commander'
import { CommandError, EXIT } from '../../base/catalogue/command.ts'
import { readCurrency } from '../../services/settings.ts'
import { bookWallet, showWallet, walletEntries } from '../../services/wallet.ts'
import { countArgument, parseAmount, parseSigned } from '../arguments.ts'
import { inStore } from '../in-store.ts'
import { newCommand } from '../new-command.ts'
import { printPage } from '../output/output.ts'
import { bookedToText, entriesToText, walletToText } from '../output/wallet-text.ts'
import type { BindHandler } from '../session.ts'

const REFERENCE = /^[^\p{C}]{1,256}$/u
const NOTE = /^[^\p{C}]{1,1024}$/u

/** `gw wallet`: credits, debits and balances of tenants. */
export function walletCommand(bind: BindHandler): Command {
  return newCommand('wallet', 'Show and change the balances of tenants.', [
    'gw wallet show acme',
    'gw wallet credit acme 50 --reference invoice-2026-017',
    'gw wallet entries acme',
  ])
    .addCommand(showCommand(bind))
    .addCommand(bookCommand(bind, 'credit'))
    .addCommand(bookCommand(bind, 'debit'))
    .addCommand(bookCommand(bind, 'adjust'))
    .addCommand(entriesCommand(bind))
}

function showCommand(bind: BindHandler): Command {
  return newCommand('show', 'Show a balance, the amount held by open calls, and the available rest.', [
    'gw wallet show acme',
  ])
    .argument('<tenant>', 'the tenant of the wallet')
    .action(
      bind(async (session, [tenant = '']) => {
        const { out } = session
        const wallet = await inStore(session, 'read', context => showWallet(context, { tenant }))
        out.result({ text: () => walletToText(wallet, out.style), json: () => wallet })
        return EXIT.done
      }),
    )
}

const BOOKINGS = {
  credit: {
    summary: 'Add to a balance, once for each reference.',
    examples: [
      'gw wallet credit acme 49.90 --reference invoice-2026-017',
      'gw wallet credit acme 5 --reference ticket-88 --note "outage of 3 May"',
    ],
  },
  debit: {
    summary:
      'Subtract from a balance, once for each reference; never the amount held by open calls of a prepaid tenant.',
    examples: [
      'gw wallet debit acme 49.90 --reference refund-2026-004',
      'gw wallet debit acme 5 --reference ticket-91 --note "credited twice"',
    ],
  },
  adjust: {
    summary: 'Correct a charge in either direction, once for each reference: charges are never changed.',
    examples: [
      'gw wallet adjust acme 0.25 --reference req_0123 --note "the upstream counted twice"',
      'gw wallet adjust acme -0.25 --reference req_0124',
    ],
  },
} as const

function bookCommand(bind: BindHandler, kind: keyof typeof BOOKINGS): Command {
  const { summary, examples } = BOOKINGS[kind]
  return newCommand(kind, summary, examples)
    .argument('<tenant>', 'the tenant of the wallet')
    .argument('<amount>', kind === 'adjust' ? 'a decimal, such as 0.25 or -0.25' : 'a decimal, such as 49.90')
    .requiredOption('--reference <text>', 'required: unique reference; repeating it books nothing')
    .option('--note <text>', 'a free text')
    .action(
      bind<{ reference: string; note?: string }>(
        async (session, [tenant = '', amount = ''], { reference, note }) => {
          const adjustment = {
            tenant,
            amountNano: kind === 'adjust' ? parseSigned(amount) : parseAmount(amount),
            reference: checked('--reference', reference, REFERENCE),
            ...(note !== undefined && { note: checked('--note', note, NOTE) }),
          }
          const booked = await inStore(session, 'write', context => bookWallet(context, kind, adjustment))
          session.out.result({ text: () => bookedToText(booked), json: () => booked })
          return EXIT.done
        },
      ),
    )
}

function entriesCommand(bind: BindHandler): Command {
  return newCommand('entries', 'List the entries of a wallet, newest first.', [
    'gw wallet entries acme',
    'gw wallet entries acme --limit 500 --format json',
  ])
    .argument('<tenant>', 'the tenant of the wallet')
    .option('--limit <n>', 'at most this many', countArgument, 50)
    .action(
      bind<{ limit: number }>(async (session, [tenant = ''], { limit }) => {
        const { out } = session
        const { page, currency } = await inStore(session, 'read', async context => ({
          page: await walletEntries(context, { tenant, limit }),
          currency: await readCurrency(context.store),
        }))
        if (page.next_cursor !== null) out.info(`Shows the newest ${limit}; for more: --limit N.`)
        printPage(out, page, `The wallet of ${tenant} has no entries yet.`, entries =>
          entriesToText(entries, currency, out.style, out.width),
        )
        return EXIT.done
      }),
    )
}

function checked(flag: string, text: string, form: RegExp): string {
  if (form.test(text)) return text
  throw new CommandError('usage', `\`${flag}\` is empty, too long or has control characters.`, {
    hint: 'Write one line of text: 256 characters for a reference, 1024 for a note.',
  })
}
