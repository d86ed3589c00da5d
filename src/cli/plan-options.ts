import { InvalidArgumentError, Option } from 'commander'

/** `--adopt` of the commands that plan from files. */
export function adoptOption(): Option {
  return new Option(
    '--adopt <kind/name>',
    'take over a resource created by the command line or REST; may be repeated',
  ).argParser(collect)
}

/** The argument of `--allow-deletes`. */
export function deletesArgument(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Write a whole number, such as 12.')
}

function collect(id: string, before: readonly string[] = []): readonly string[] {
  return [...before, id]
}
