import { InvalidArgumentError, Option } from 'commander'
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

/** `--url` means the control plane, in every command. */
export function controlUrlOption(description: string): Option {
  return new Option('--url <url>', description).argParser(controlAddress)
}

/** Rejects `--url` of commands that address a gateway: the port would be wrong. */
export function noUrlOption(): Option {
  return new Option('--url <url>').hideHelp().argParser(() => {
    throw new InvalidArgumentError(
      '`--url` is the control plane in every command; use --gateway http://host:8090 for a gateway.',
    )
  })
}

/** The argument of `--gateway`: only an origin, since a token may be sent there. */
export function gatewayAddress(text: string): string {
  return parseOrigin(text, ', without a path').origin
}

function controlAddress(text: string): URL {
  return parseOrigin(text, ', such as http://127.0.0.1:8080')
}

/** A URL of HTTP without a path, user or query. @throws {InvalidArgumentError} */
function parseOrigin(text: string, form: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`) return url
  throw new InvalidArgumentError(`Write http:// or https:// and a host${form}.`)
}
