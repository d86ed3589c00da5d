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

/** What systemd tells a process about the sockets that it has opened for it (sd_listen_fds(3)). */
export interface SocketActivation {
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Of this process; of a worker, of its supervisor. */
  readonly pid: number
}

const FIRST_SOCKET = 3

/** How many sockets systemd has opened for a process. */
export function socketsOf({ environment, pid }: SocketActivation): number {
  const { LISTEN_PID, LISTEN_FDS } = environment
  return LISTEN_PID === String(pid) ? Number(LISTEN_FDS) : 0
}

/**
 * The address of a server: as {@link parseListen}, or `systemd:NAME`, a socket that systemd has opened, by its
 * `FileDescriptorName`; `systemd` is the first one.
 * @throws {CommandError} usage
 */
export function listenAddress(
  text: string,
  { environment, pid }: SocketActivation,
): Address & { readonly fd?: number } {
  const [, name] = /^systemd(?::(.+))?$/.exec(text) ?? ['']
  if (!text.startsWith('systemd') || (name === undefined && text !== 'systemd')) return parseListen(text)
  const count = socketsOf({ environment, pid })
  const names = (environment['LISTEN_FDNAMES'] ?? '').split(':').slice(0, count)
  const index = name === undefined ? 0 : names.indexOf(name)
  if (index >= 0 && index < count) return { host: text, port: 0, fd: FIRST_SOCKET + index }
  const found =
    count > 0 ? `systemd has opened ${names.join(', ')}` : 'systemd has opened no socket for this process'
  throw new CommandError('usage', `\`${text}\` is not there: ${found}.`, {
    hint: 'Start gw by a socket unit, as docs/operations.md has it, or write HOST:PORT.',
  })
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
