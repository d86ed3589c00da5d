import { EXIT, type ExitCode } from '../base/catalogue/command.ts'
import type { Issued } from '../services/keys.ts'
import type { SecretFile } from '../services/secret-files.ts'
import type { Session } from './session.ts'

/** Prints only the secret on stdout, for pipes; messages go to stderr. */
export function reveal(session: Session, issued: Issued): ExitCode {
  const { out } = session
  const { key, secret, graceUntilMs } = issued
  out.info(`The secret of ${key}, shown only once: the store keeps its hash.`)
  if (graceUntilMs !== undefined)
    out.info(`Older secrets work until ${new Date(graceUntilMs).toISOString()}.`)
  warn(session, issued)
  out.result({
    text: () => `${secret}\n`,
    json: () => ({
      key,
      secret,
      ...(graceUntilMs !== undefined && { grace_until: new Date(graceUntilMs).toISOString() }),
    }),
  })
  return EXIT.done
}

/** Several secrets: a line for each, with the name of its key, a tab and the secret. */
export function revealAll(session: Session, issued: readonly Issued[]): ExitCode {
  const [only] = issued
  if (only && issued.length === 1) return reveal(session, only)
  session.out.info('Each secret is shown only once: the store keeps its hash.')
  for (const each of issued) warn(session, each)
  session.out.result({
    text: () => issued.map(({ key, secret }) => `${key}\t${secret}\n`).join(''),
    json: () => ({ keys: issued.map(({ key, secret }) => ({ key, secret })) }),
  })
  return EXIT.done
}

/** Secrets that were written to files: prints only the paths. */
export function revealFiles(
  session: Session,
  files: readonly (SecretFile & { readonly minted: Issued })[],
): ExitCode {
  for (const { minted } of files) warn(session, minted)
  session.out.result({
    text: () => files.map(({ key, path }) => `The secret of ${key} is in ${path}.\n`).join(''),
    json: () => ({ keys: files.map(({ key, path }) => ({ key, file: path })) }),
  })
  return EXIT.done
}

function warn({ out }: Session, { key, warning }: Issued): void {
  if (warning !== undefined) out.info(`${out.infoStyle.changed('warning')} ${key}: ${warning}`)
}
