import { CommandError } from '../base/catalogue/command.ts'

/** The number of a revision, as in `gw history`. @throws {CommandError} usage */
export function revisionArgument(text: string | undefined): number {
  if (text !== undefined && /^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw new CommandError('usage', `\`${text ?? ''}\` is not a revision.`, {
    hint: 'Write a number from `gw history`.',
  })
}
