import { InvalidArgumentError, Option } from 'commander'
import { CommandError } from '../base/catalogue/command.ts'
import { formatNano, parseNano } from '../base/decimal.ts'
import { MAX_AMOUNT_NANO } from '../schema/ledger.ts'

/** The argument of a flag that takes a whole number, 1 or more. */
export function countArgument(text: string): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : 0
  if (value < 1) throw new InvalidArgumentError('Write a whole number, 1 or more.')
  return value
}

/** The number of a revision, as in `gw history`. @throws {CommandError} usage */
export function revisionArgument(text: string | undefined): number {
  if (text !== undefined && /^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw new CommandError('usage', `\`${text ?? ''}\` is not a revision.`, {
    hint: 'Write a number from `gw history`.',
  })
}

/** `--adopt` of the commands that plan from files. */
export function adoptOption(): Option {
  return new Option(
    '--adopt <kind/name>',
    'take over a resource of the command line, REST or another set; may be repeated',
  ).argParser(collect)
}

/** The argument of `--allow-deletes`. */
export function deletesArgument(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Write a whole number, such as 12.')
}

/**
 * The amount of an adjustment: as {@link parseAmount}, and negative for a debit.
 * @throws {CommandError} usage
 */
export function parseSigned(text: string): bigint {
  return text.startsWith('-') ? -parseAmount(text.slice(1)) : parseAmount(text)
}

/**
 * The amount of a credit or of a debit: more than 0, at most nine digits after the point.
 * @throws {CommandError} usage
 */
export function parseAmount(text: string): bigint {
  const nano = parseNano(text)
  if (typeof nano === 'bigint' && nano > 0n && nano <= MAX_AMOUNT_NANO) return nano
  throw new CommandError('usage', `\`${text}\` is not an amount to book.`, {
    hint: `Write more than 0 and at most ${formatNano(MAX_AMOUNT_NANO)}, with a point and at most nine digits after it, such as 12.50.`,
  })
}

function collect(id: string, before: readonly string[] = []): readonly string[] {
  return [...before, id]
}
