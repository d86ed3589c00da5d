import { CommandError } from '../base/catalogue/command.ts'
import type { ListenAddress } from '../http/listen.ts'

/** Why the system does not let a process listen there (listen(2), getaddrinfo(3)), in words. */
const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is in use',
  EACCES: 'is not ours to listen on',
  EADDRNOTAVAIL: 'is no address of this machine',
  ENOTFOUND: 'is no address of this machine',
}

/**
 * What an operator is told where a server could not take its address: GW4008; any other error as it is.
 *
 * @param flag The one that sets the address.
 */
export function listenFault(error: unknown, { host, port }: ListenAddress, flag: string): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (!Object.hasOwn(REASONS, code)) return error
  const address = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
  return new CommandError('GW4008', `${address} ${REASONS[code]}.`, {
    hint: `Stop the process that holds it, or choose another address of this machine and a port from 1024 on with ${flag}.`,
    cause: error,
  })
}
