import { CommandError } from '../base/catalogue/command.ts'
import { readStdin } from './io.ts'
import type { Session } from './session.ts'

const INTERRUPT = '\u0003'
const END = '\u0004'
const ERASE = new Set(['\u0008', '\u007f'])

/**
 * A new password: from stdin with `--password -`, or typed twice on a terminal, where it is not shown. Never from the
 * command line, which other users of the machine and the shell's history can read.
 *
 * @throws {CommandError} usage if input is not possible or the two differ, interrupted on a signal.
 */
export async function newPassword(session: Session, flag: string | undefined): Promise<string> {
  const [first, second] = await password(session, flag, ['New password: ', 'Again: '])
  if (first === second) return first ?? ''
  session.out.info('')
  throw new CommandError('usage', 'The two passwords differ.', { hint: 'Nothing was changed: try again.' })
}

/**
 * The password of an existing user, from stdin or typed once. @throws as {@link newPassword}.
 */
export async function oldPassword(session: Session, flag: string | undefined): Promise<string> {
  const [only = ''] = await password(session, flag, ['Password: '])
  return only
}

async function password(
  session: Session,
  flag: string | undefined,
  questions: readonly string[],
): Promise<readonly string[]> {
  const { io, flags, signal } = session
  if (flag !== undefined && flag !== '-') {
    throw new CommandError('usage', 'A password does not belong on the command line.', {
      hint: 'Pipe it in with `--password -`, or leave the flag out and type it.',
    })
  }
  if (flag === '-') {
    const piped = (await readStdin(io, signal)).toString('utf8').replace(/\r?\n$/, '')
    return questions.map(() => piped)
  }
  if (!flags.input || io.stdin.isTTY !== true || io.stderr.isTTY !== true) {
    throw new CommandError('usage', 'A password is needed, and the input is not a terminal.', {
      hint: 'Pipe it in with `--password -`.',
    })
  }
  const answers = await typed(session, questions)
  signal.throwIfAborted()
  return answers
}

/** Asks one question after the other, without showing the answers. */
async function typed({ io, signal }: Session, questions: readonly string[]): Promise<string[]> {
  const { stdin, stderr } = io
  const answers: string[] = []
  let line = ''
  stdin.setEncoding('utf8')
  stdin.setRawMode?.(true)
  try {
    await new Promise<void>((resolve, reject) => {
      const ask = () => stderr.write(questions[answers.length] ?? '')
      const take = (text: string) => {
        for (const character of text) {
          const isEnd = character === END && line === ''
          if (character === INTERRUPT || isEnd) return reject(new CommandError('interrupted'))
          if (character === '\r' || character === '\n' || character === END) {
            answers.push(line)
            line = ''
            stderr.write('\n')
            if (answers.length === questions.length) return resolve()
            ask()
          } else if (ERASE.has(character)) line = line.replace(/.$/su, '')
          else line += character
        }
      }
      stdin.on('data', take)
      stdin.once('end', () => reject(new CommandError('interrupted')))
      signal.addEventListener('abort', () => reject(new CommandError('interrupted')), { once: true })
      ask()
    })
  } finally {
    stdin.setRawMode?.(false)
    stdin.removeAllListeners('data')
    stdin.pause()
  }
  return answers
}
