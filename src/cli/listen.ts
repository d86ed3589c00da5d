import { CommandError } from '../base/catalogue/command.ts'

export interface Address {
  readonly host: string
  readonly port: number
}

const FORM = /^(?:(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]*)):)?(\d{1,5})$/

/**
 * `127.0.0.1:8090`, `[::1]:8090`, `:8090` or `8090`; without a host the loopback address.
 * @throws {CommandError} usage
 */
export function parseListen(text: string): Address {
  const [matched, six, host, digits] = FORM.exec(text) ?? []
  const port = Number(digits)
  if (matched === undefined || port > 65_535) {
    throw new CommandError('usage', `\`--listen ${text}\` is not an address.`, {
      hint: 'Write HOST:PORT, such as 127.0.0.1:9101 or [::1]:9101.',
    })
  }
  return { host: six ?? (host || '127.0.0.1'), port }
}
