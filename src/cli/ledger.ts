import type { Command } from 'commander'
import { LedgerBroken, type LedgerChecked, verifyLedger } from '../app/ledger.ts'
import { pluralize } from '../app/pluralize.ts'
import { EXIT } from '../base/catalogue/command.ts'
import { checkedToJson, findingsToText } from './ledger-text.ts'
import { newCommand } from './new-command.ts'
import { progressLine } from './progress.ts'
import { appPorts, type BindHandler } from './session.ts'

/** `gw ledger`: the book of every hold, bill, credit and debit. */
export function ledgerCommand(bind: BindHandler): Command {
  return newCommand('ledger', 'Look after the book of holds, bills, credits and debits.', [
    'gw ledger verify',
  ]).addCommand(verifyCommand(bind))
}

function verifyCommand(bind: BindHandler): Command {
  return newCommand('verify', 'Add up every entry again, and name each row that does not fit.', [
    'gw ledger verify',
    'gw ledger verify --format json   # exit code 1 where something does not fit',
  ]).action(
    bind(async session => {
      const { out, io, flags, signal } = session
      signal.throwIfAborted()
      const progress = progressLine(io)
      const onProgress = (entries: number, ofEntries: number) =>
        progress.show(`Adding up the ledger: ${entries} of ${ofEntries} entries …`)
      try {
        const checked = await verifyLedger(flags.store, appPorts(session), onProgress).finally(() =>
          progress.clear(),
        )
        out.result({
          text: () => `${told(checked)}: everything fits.\n`,
          json: () => ({ fits: true, ...checkedToJson(checked), findings: [] }),
        })
        return EXIT.done
      } catch (error) {
        // Here the findings are what was asked for, so they are data; the verdict remains talk.
        if (!(error instanceof LedgerBroken)) throw error
        out.print(`${told(error.checked)}.\n${findingsToText(error.findings, out.style)}`)
        return out.fail(error, 'detailed')
      }
    }),
  )
}

function told({ entries, openHolds, accounts }: LedgerChecked): string {
  const many = entries === 1 ? '1 entry' : `${entries} entries`
  return `Checked ${many}, ${pluralize(openHolds, 'open hold')}, ${pluralize(accounts, 'account')}`
}
