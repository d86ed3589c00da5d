import type { Command } from 'commander'
import { EXIT } from '../../base/catalogue/command.ts'
import { type BackedUp, backUp, type Restored, restore } from '../../services/backup.ts'
import { newCommand } from '../new-command.ts'
import { mibText } from '../output/figures.ts'
import { progressLine } from '../output/progress.ts'
import { printable } from '../output/style.ts'
import { appPorts, type BindHandler, type Session } from '../session.ts'

/** `gw backup`: a copy of the store in one file, while gateways serve it. */
export function backupCommand(bind: BindHandler): Command {
  return newCommand(
    'backup',
    'Copy a consistent state of the store to a file that only you can read. Gateways may serve it meanwhile.',
    [
      'gw backup gw-backup.db',
      'gw backup gw-backup.db --force      # replace an existing file, when the new one is complete',
      'gw backup /mnt/backup/gw.db --store sqlite:/var/lib/gw/gw.db --format json',
    ],
  )
    .argument('<file>', 'the backup to write')
    .option('--force', 'replace an existing file')
    .addHelpText(
      'after',
      [
        '',
        'The copy is verified before it gets its name. It does not contain the master key of stored credentials',
        '(gw.db.key beside the store, or GW_MASTER_KEY): keep that as well, but not beside the backup.',
      ].join('\n'),
    )
    .action(
      bind<{ force?: true }>(async (session, [file = ''], { force }) => {
        const { out, flags } = session
        const done = await watched(session, watch =>
          backUp(file, flags.store, appPorts(session), { ...watch, isForced: force === true }),
        )
        if (done.missingRows > 0) {
          out.info(
            `${done.missingRows} rows of the ledger are not in the copy: no gateway has folded the journal since a crash. Start it once, and back up again.`,
          )
        }
        if (done.keyFile !== undefined) {
          out.info(
            `Keep ${printable(done.keyFile)} as well, but not beside the backup: it decrypts the credentials in it.`,
          )
        }
        out.result({
          text: () =>
            `Backed up revision ${done.revision} to ${printable(done.file)} (${mibText(done.bytes)} MiB).\n`,
          json: () => backedUpToJson(done),
        })
        return EXIT.done
      }),
    )
}

/** `gw restore`: replaces the store by a backup. */
export function restoreCommand(bind: BindHandler): Command {
  return newCommand(
    'restore',
    'Replace the store by a backup, while no gateway serves it. The former store is kept beside it.',
    [
      'gw restore gw-backup.db',
      'gw restore /mnt/backup/gw.db --store sqlite:/var/lib/gw/gw.db --format json',
    ],
  )
    .argument('<file>', 'a file written by `gw backup`')
    .addHelpText(
      'after',
      [
        '',
        'The backup is copied and verified first; if it is damaged, nothing is changed. Later changes are lost: spend',
        'since the backup is forgotten, and keys, tokens and sessions that were revoked since then work again.',
      ].join('\n'),
    )
    .action(
      bind(async (session, [file = '']) => {
        const { out, flags } = session
        const done = await watched(session, watch => restore(file, flags.store, appPorts(session), watch))
        if (done.former === undefined) {
          out.info(
            `There was no store at ${printable(done.store)} before: if a gateway uses another one, name it with --store or GW_STORE.`,
          )
        }
        out.result({ text: () => restoredText(done), json: () => restoredToJson(done) })
        return EXIT.done
      }),
    )
}

/** Shows the progress of the copy on a terminal. */
async function watched<T>(
  { io, signal }: Session,
  work: (watch: { onProgress: (bytes: number, ofBytes: number) => void; onCheck: () => void }) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted()
  const progress = progressLine(io)
  try {
    return await work({
      onProgress: (bytes, ofBytes) =>
        progress.show(`Copying: ${mibText(bytes)} of ${mibText(ofBytes)} MiB …`),
      onCheck: () => progress.show('Checking the copy …'),
    })
  } finally {
    progress.clear()
  }
}

function restoredText({ revision, file, store, former }: Restored): string {
  const kept = former === undefined ? '' : `The former store is ${printable(former)}.\n`
  return `${printable(store)} is at revision ${revision}, as ${printable(file)} has it.\n${kept}`
}

function backedUpToJson({ store, file, bytes, revision, keyFile }: BackedUp) {
  return { store, file, bytes, revision, ...(keyFile !== undefined && { key_file: keyFile }) }
}

function restoredToJson({ store, file, bytes, revision, former }: Restored) {
  return { store, file, bytes, revision, ...(former !== undefined && { former_store: former }) }
}
