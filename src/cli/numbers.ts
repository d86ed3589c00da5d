import { InvalidArgumentError } from 'commander'

/** The argument of a flag that takes a whole number, 1 or more. */
export function countArgument(text: string): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : 0
  if (value < 1) throw new InvalidArgumentError('Write a whole number, 1 or more.')
  return value
}
