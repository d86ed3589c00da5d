import type { Command } from 'commander'
import { EXIT } from '../../base/catalogue/command.ts'
import { pluralize } from '../../base/pluralize.ts'
import { LedgerBroken, type LedgerChecked, verifyLedger } from '../../services/ledger.ts'
import { inStore } from '../in-store.ts'
import { newCommand } from '../new-command.ts'
import { checkedToJson, findingsToText } from '../output/ledger-text.ts'
import { progressLine } from '../output/progress.ts'
import type { BindHandler } from '../session.ts'

/** `gw ledger`: the ledger of every hold, charge, credit and debit. */
export function ledgerCommand(bind: BindHandler): Command {
  return newCommand('ledger', 'Check the ledger of holds, charges, credits and debits.', [
    'gw ledger verify',
  ]).addCommand(verifyCommand(bind))
}

function verifyCommand(bind: BindHandler): Command {
  return newCommand('verify', 'Recalculate every sum, and name each row that does not match.', [
    'gw ledger verify',
    'gw ledger verify --format json   # exit code 1 if a row does not match',
  ]).action(
    bind(async session => {
      const { out, io, signal } = session
      signal.throwIfAborted()
      const progress = progressLine(io)
      const onProgress = (entries: number, ofEntries: number) =>
        progress.show(`Checking the ledger: ${entries} of ${ofEntries} entries …`)
      try {
        const checked = await inStore(session, 'read', context => verifyLedger(context, onProgress)).finally(
          () => progress.clear(),
        )
        out.result({
          text: () => `${checkedText(checked)}: all sums match.\n`,
          json: () => ({ fits: true, ...checkedToJson(checked), findings: [] }),
        })
        return EXIT.done
      } catch (error) {
        // The findings are the result of this command, so they go to stdout; the verdict goes to stderr.
        if (!(error instanceof LedgerBroken)) throw error
        out.print(`${checkedText(error.checked)}.\n${findingsToText(error.findings, out.style)}`)
        return out.fail(error, 'detailed')
      }
    }),
  )
}

function checkedText({ entries, openHolds, accounts }: LedgerChecked): string {
  const count = entries === 1 ? '1 entry' : `${entries} entries`
  return `Checked ${count}, ${pluralize(openHolds, 'open hold')}, ${pluralize(accounts, 'account')}`
}
