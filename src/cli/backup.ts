import type { Command } from 'commander'
import { type BackedUp, backUp, type Restored, restore } from '../app/backup.ts'
import { EXIT } from '../base/catalogue/command.ts'
import { newCommand } from './new-command.ts'
import { progressLine } from './progress.ts'
import { appPorts, type BindHandler, type Session } from './session.ts'
import { printable } from './style.ts'

const MIB = 1_048_576

/** `gw backup`: a copy of the store in one file, while gateways serve it. */
export function backupCommand(bind: BindHandler): Command {
  return newCommand(
    'backup',
    'Copy the store, as of one moment, into a file that only you may read. Gateways may serve it meanwhile.',
    [
      'gw backup gw-backup.db',
      'gw backup gw-backup.db --force      # replace the file where it is there, once the new one is complete',
      'gw backup /mnt/backup/gw.db --store sqlite:/var/lib/gw/gw.db --format json',
    ],
  )
    .argument('<file>', 'where to write it')
    .option('--force', 'replace the file where it is there already')
    .addHelpText(
      'after',
      [
        '',
        'The copy is checked before it takes its name. The key that seals credentials (gw.db.key beside the store, or',
        'GW_MASTER_KEY) is not in it: keep that, too, and not beside the backup.',
      ].join('\n'),
    )
    .action(
      bind<{ force?: true }>(async (session, [file = ''], { force }) => {
        const { out, flags } = session
        const done = await watched(session, watch =>
          backUp(file, flags.store, appPorts(session), { ...watch, isForced: force === true }),
        )
        if (done.keyFile !== undefined) {
          out.info(
            `Keep ${printable(done.keyFile)}, too, and not beside the backup: it opens the credentials in it.`,
          )
        }
        out.result({
          text: () =>
            `Backed up revision ${done.revision} to ${printable(done.file)} (${mib(done.bytes)} MiB).\n`,
          json: () => backedUpToJson(done),
        })
        return EXIT.done
      }),
    )
}

/** `gw restore`: a backup in the place of the store. */
export function restoreCommand(bind: BindHandler): Command {
  return newCommand(
    'restore',
    'Put a backup in the place of the store, which no gateway may serve meanwhile. The former store is kept beside it.',
    [
      'gw restore gw-backup.db',
      'gw restore /mnt/backup/gw.db --store sqlite:/var/lib/gw/gw.db --format json',
    ],
  )
    .argument('<file>', 'what `gw backup` has written')
    .addHelpText(
      'after',
      [
        '',
        'The backup is copied and checked first; where it is damaged nothing is changed. What happened after it is not in',
        'it: spend since then is forgotten, and keys, tokens and sessions that were revoked since then work again.',
      ].join('\n'),
    )
    .action(
      bind(async (session, [file = '']) => {
        const { out, flags } = session
        const done = await watched(session, watch => restore(file, flags.store, appPorts(session), watch))
        out.result({ text: () => restoredText(done), json: () => restoredToJson(done) })
        return EXIT.done
      }),
    )
}

/** Shows on a terminal how far the copy is. */
async function watched<T>(
  { io, signal }: Session,
  work: (watch: { onProgress: (bytes: number, ofBytes: number) => void; onCheck: () => void }) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted()
  const progress = progressLine(io)
  try {
    return await work({
      onProgress: (bytes, ofBytes) => progress.show(`Copying: ${mib(bytes)} of ${mib(ofBytes)} MiB …`),
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

function mib(bytes: number): string {
  return (bytes / MIB).toFixed(1)
}
