import { resolve } from 'node:path'
import type { Command } from 'commander'
import { CommandError, EXIT } from '../../base/catalogue/command.ts'
import { pluralize } from '../../base/pluralize.ts'
import { archiveLedger, listArchives, verifyLedger } from '../../services/ledger.ts'
import { LedgerBroken, type LedgerChecked } from '../../services/ledger-broken.ts'
import type { Archiving } from '../../store/ledger/types.ts'
import { inStore } from '../in-store.ts'
import { newCommand } from '../new-command.ts'
import { mibText } from '../output/figures.ts'
import { type ArchiveShown, archiveToJson, checkedToJson, findingsToText } from '../output/ledger-text.ts'
import { type Output, printPage } from '../output/output.ts'
import { progressLine } from '../output/progress.ts'
import { printable } from '../output/style.ts'
import { type Column, table } from '../output/table.ts'
import type { BindHandler } from '../session.ts'
import { parseMonth } from '../time-argument.ts'

/** `gw ledger`: the ledger of every hold, charge, credit and debit. */
export function ledgerCommand(bind: BindHandler): Command {
  return newCommand(
    'ledger',
    'Check the ledger of holds, charges, credits and debits, and archive old months.',
    ['gw ledger verify', 'gw ledger archive --before 2026-09 ledger-2026-08.jsonl.gz', 'gw ledger archives'],
  )
    .addCommand(verifyCommand(bind))
    .addCommand(archiveCommand(bind))
    .addCommand(archivesCommand(bind))
}

function verifyCommand(bind: BindHandler): Command {
  return newCommand('verify', 'Recalculate every sum, and name each row that does not match.', [
    'gw ledger verify',
    'gw ledger verify --archive ledger-*.jsonl.gz   # the entries of archives as well',
    'gw ledger verify --format json                 # exit code 1 if a row does not match',
  ])
    .option(
      '--archive <file...>',
      'add up the entries of these archives, in place of the sums that were recorded of them',
    )
    .action(
      bind<{ readonly archive?: readonly string[] }>(async (session, _args, { archive = [] }) => {
        const { out, io, signal } = session
        signal.throwIfAborted()
        const progress = progressLine(io)
        const onProgress = (entries: number, ofEntries: number) =>
          progress.show(`Checking the ledger: ${entries} of ${ofEntries} entries …`)
        const files = archive.map(file => resolve(io.cwd, file))
        try {
          const checked = await inStore(session, 'read', context =>
            verifyLedger(context, files, onProgress),
          ).finally(() => progress.clear())
          warnOfUnfolded(out, checked)
          out.result({
            text: () => `${checkedText(checked)}: all sums match.\n`,
            json: () => ({ fits: true, ...checkedToJson(checked), findings: [] }),
          })
          return EXIT.done
        } catch (error) {
          // The findings are the result of this command, so they go to stdout; the verdict goes to stderr.
          if (!(error instanceof LedgerBroken)) throw error
          warnOfUnfolded(out, error.checked)
          out.print(`${checkedText(error.checked)}.\n${findingsToText(error.findings, out.style)}`)
          return out.fail(error, 'detailed')
        }
      }),
    )
}

const STEPS = {
  write: 'Writing',
  verify: 'Checking the ledger with the archive',
  delete: 'Deleting from the store',
}

function archiveCommand(bind: BindHandler): Command {
  return newCommand(
    'archive',
    'Move the calls of closed months to a compressed file. Gateways may serve the store meanwhile.',
    [
      'gw ledger archive --before 2026-09 ledger-2026-08.jsonl.gz',
      'gw ledger archive --before $(date -u +%Y-%m) /mnt/archive/ledger-$(date -u +%F).jsonl.gz   # monthly; in a crontab each % is \\%',
      'zcat ledger-2026-08.jsonl.gz | head -2                       # a header, then a call for each line',
    ],
  )
    .argument('<file>', 'the archive to write: JSON lines, compressed with gzip')
    .option('--before <month>', 'the first month to keep, such as 2026-09, in UTC')
    .addHelpText(
      'after',
      [
        '',
        'An entry is deleted only when the file is complete and the whole ledger adds up with it. The store keeps the sums',
        'of the archive, the usage for reports, and all credits, debits and adjustments. Keep the file:',
        '`gw ledger verify --archive FILE` adds it up again. An interrupted run changes nothing, or the next one completes it.',
      ].join('\n'),
    )
    .action(
      bind<{ readonly before?: string }>(async (session, [file = ''], { before }) => {
        const { out, io } = session
        if (before === undefined) throw new CommandError('usage', 'The month is missing: `--before 2026-09`.')
        const beforeMs = parseMonth('--before', before, io.clock.nowMs())
        const progress = progressLine(io)
        const done = await inStore(session, 'write', context =>
          archiveLedger(context, { path: resolve(io.cwd, file), beforeMs }, (step, entries, ofEntries) =>
            progress.show(`${STEPS[step]}: ${entries} of ${ofEntries} entries …`),
          ),
        ).finally(() => progress.clear())
        out.result({
          text: () => archivedText(done, before),
          json: () => ({
            deleted: done.deleted,
            ...(done.archive && { archive: archiveToJson(done.archive) }),
          }),
        })
        return EXIT.done
      }),
    )
}

const NEWEST_LEFT = 'The newest entry stays in the store, and goes to the next archive.\n'

function archivedText({ archive, deleted, isNewestLeft }: Archiving, before: string): string {
  const newest = isNewestLeft ? NEWEST_LEFT : ''
  if (!archive) {
    const left =
      deleted === 0 ? '' : ` Deleted ${pluralize(deleted, 'entry', 'entries')} of an interrupted run.`
    return `Nothing to archive before ${before}.${left}\n${newest}`
  }
  const { entries, file, bytes, sha256 } = archive
  return (
    `Archived ${pluralize(entries, 'entry', 'entries')} before ${before} to ${printable(file)} (${mibText(bytes)} MiB). Keep this file.\n` +
    `SHA-256 ${sha256}\n${newest}`
  )
}

function archivesCommand(bind: BindHandler): Command {
  return newCommand('archives', 'List the archives of the ledger, with their digests.', [
    'gw ledger archives',
    'gw ledger archives --format json',
  ]).action(
    bind(async session => {
      const { out } = session
      const archives = await inStore(session, 'read', listArchives)
      const page = { data: archives.map(archiveToJson), next_cursor: null }
      printPage(out, page, 'No archives yet: `gw ledger archive --before MONTH FILE`.', rows =>
        table(COLUMNS, rows, out.style, out.width),
      )
      return EXIT.done
    }),
  )
}

const COLUMNS: readonly Column<ArchiveShown>[] = [
  { title: 'BEFORE', cell: ({ before }) => before },
  { title: 'ENTRIES', cell: ({ entries }) => String(entries), align: 'right' },
  { title: 'MIB', cell: ({ bytes }) => mibText(bytes), align: 'right', dispensable: true },
  { title: 'ARCHIVED', cell: ({ archived_at }) => archived_at.slice(0, 10), dispensable: true },
  { title: 'SHA-256', cell: ({ sha256 }) => sha256, narrowest: 8 },
  { title: 'FILE', cell: ({ file }) => file, narrowest: 8 },
]

function warnOfUnfolded(out: Output, { unfoldedRows }: LedgerChecked): void {
  if (unfoldedRows === 0) return
  out.info(
    `${unfoldedRows} rows of the ledger were not checked: they are in the journal, not yet in the store. If a gateway runs, its log says why it cannot write to the store; if none runs, start it once. Then check again.`,
  )
}

function checkedText({ entries, archived, openHolds, accounts }: LedgerChecked): string {
  const count = pluralize(entries, 'entry', 'entries')
  const carried = archived === 0 ? '' : ` and the sums of ${archived} archived ones`
  return `Checked ${count}${carried}, ${pluralize(openHolds, 'open hold')}, ${pluralize(accounts, 'account')}`
}
