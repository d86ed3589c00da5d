import { CommandError } from '../base/catalogue/command.ts'

/** The number of a revision, as `gw history` lists it. @throws {CommandError} GW6001 */
export function revisionArgument(text: string | undefined): number {
  if (text !== undefined && /^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw new CommandError('GW6001', `\`${text ?? ''}\` is no revision.`, {
    hint: 'Write its number, as `gw history` lists it.',
  })
}
