import { EXIT, type ExitCode } from '../base/catalogue/command.ts'
import type { IssuedSecret } from '../changes/types.ts'
import type { Session } from './session.ts'

/** The secret alone on stdout, so that a pipe can take it; what a person should know goes to stderr. */
export function reveal({ out }: Session, { key, secret, graceUntilMs }: IssuedSecret): ExitCode {
  out.talk(`The secret of ${key}, shown this once: only its hash is kept.`)
  if (graceUntilMs !== undefined)
    out.talk(`Older secrets work until ${new Date(graceUntilMs).toISOString()}.`)
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
