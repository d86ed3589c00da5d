import { CommandError } from '../base/catalogue/command.ts'
import type { ListenAddress } from '../http/listen.ts'

/** Why the system rejects a listening address (listen(2), getaddrinfo(3)), in words. */
const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is in use',
  EACCES: 'needs permissions that this process lacks',
  EADDRNOTAVAIL: 'is not an address of this machine',
  ENOTFOUND: 'is not an address of this machine',
  // A descriptor that was inherited.
  EBADF: 'is not a socket',
  EINVAL: 'is not a socket that listens',
  ENOTSOCK: 'is not a socket',
}

/**
 * Converts the error of a failed listen into address_unavailable; returns any other error unchanged.
 *
 * @param flag the command-line flag that sets the address.
 */
export function listenFault(error: unknown, { host, port, fd }: ListenAddress, flag: string): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (!Object.hasOwn(REASONS, code)) return error
  const address = fd !== undefined ? host : host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
  return new CommandError('address_unavailable', `${address} ${REASONS[code]}.`, {
    hint: `Stop the process that uses it, or choose another address of this machine and a port of 1024 or above with ${flag}.`,
    cause: error,
  })
}
