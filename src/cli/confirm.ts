import { createInterface } from 'node:readline/promises'
import { CommandError } from '../base/catalogue/command.ts'
import type { Session } from './session.ts'

/**
 * Asks before a change. `--yes` answers the question. Without a terminal on both ends, with `--no-input`, or with a
 * configuration from stdin no answer is possible, so it fails at once.
 *
 * @throws {CommandError} confirmation_required if no answer is possible, not_confirmed if the answer is not yes, interrupted on a signal.
 */
export async function confirm(session: Session, question: string): Promise<void> {
  const { io, flags, out, signal } = session
  expectAnswerable(session)
  if (flags.yes) return
  // The terminal stays in its own line mode (`terminal: false`), so that Ctrl-C is a signal and not a character.
  const lines = createInterface({ input: io.stdin, output: io.stderr, terminal: false })
  const ended = new Promise<undefined>(resolve => lines.once('close', () => resolve(undefined)))
  let answer: string | undefined
  try {
    answer = await Promise.race([
      lines.question(out.infoStyle.strong(`${question} [y/N] `), { signal }),
      ended,
    ])
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    lines.close()
  }
  // Ctrl-C and Ctrl-D leave the cursor behind the question.
  if (answer === undefined) out.info('')
  signal.throwIfAborted()
  if (!/^y(es)?$/i.test(answer?.trim() ?? '')) throw new CommandError('not_confirmed')
}

/** Checks early that {@link confirm} can ask later. @throws {CommandError} confirmation_required */
export function expectAnswerable(session: Session): void {
  const { io, flags } = session
  if (flags.yes) return
  const asked = flags.input && io.stdin.isTTY === true && io.stderr.isTTY === true
  if (!asked || flags.config.includes('-')) throw new CommandError('confirmation_required', whyNot(session))
}

function whyNot({ flags, io }: Session): string {
  if (!flags.input) return 'The change needs a confirmation, and --no-input disables the question.'
  if (flags.config.includes('-') && io.stdin.isTTY === true)
    return 'The change needs a confirmation, and stdin was read for the configuration.'
  return 'The change needs a confirmation, and the input is not a terminal.'
}
