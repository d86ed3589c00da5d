import { CommandError } from '../../base/catalogue/command.ts'

/** Classes and codes of https://www.postgresql.org/docs/current/errcodes-appendix.html that say: the server, not gw. */
const UNUSABLE = /^(08|25006|28|3D|42501|53|57014|57P|58|F0|XX)/
/** Waited too long for a lock, or had to give way: to try again may help. */
const LOCKED = /^(55P03|40001|40P01|25P03)$/
/** Errors of TLS. */
const TLS = /^(CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERR_TLS|ERR_SSL|HOSTNAME_MISMATCH)/
/** Those of `pg`, which have no code. */
const OF_DRIVER =
  /^(Connection terminated|timeout expired|Query read timeout|The server does not support SSL|There was an error establishing an SSL|Client has encountered a connection error|timeout exceeded when trying to connect|SASL|Client was closed)/

export function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : ''
}

/** Whether an error is that of a connection, whose further answers are unknown: it must not be used again. */
export function isConnectionLost(error: unknown): boolean {
  return error instanceof Error && !('severity' in error)
}

/** The server has not answered in time: it is stopped, or the network loses bytes without an error. */
export function isSilence(error: unknown): boolean {
  return error instanceof Error && error.message === 'Query read timeout'
}

/**
 * Converts an error of PostgreSQL or of the way to it into an error for the operator. Any other error (a violated
 * constraint is a bug in gw) is returned unchanged.
 * @param place as {@link nameOfAddress} names it.
 */
export function postgresFault(error: unknown, place: string): unknown {
  if (!(error instanceof Error) || error instanceof CommandError) return error
  const code = codeOf(error)
  const isOfServer = 'severity' in error
  if (isOfServer && LOCKED.test(code)) {
    return new CommandError('store_locked', `${place} is locked by another process: ${error.message}.`, {
      cause: error,
    })
  }
  const isUnusable = isOfServer
    ? UNUSABLE.test(code)
    : 'syscall' in error || error instanceof AggregateError || TLS.test(code) || OF_DRIVER.test(error.message)
  if (!isUnusable) return error
  return new CommandError('store_unavailable', `${place} cannot be used: ${reasonOf(error)}.`, {
    ...hintFor(code, error.message),
    cause: error,
  })
}

/** Attempts at several addresses of a host end in one error without a message. */
function reasonOf(error: Error): string {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : undefined
  return (error.message || (first instanceof Error ? first.message : codeOf(error))).replace(/\.$/, '')
}

function hintFor(code: string, message: string): { readonly hint?: string } {
  if (code.startsWith('28') || message.startsWith('SASL'))
    return { hint: 'Check user and password: in the URL, ?password_file=PATH, PGPASSWORD or ~/.pgpass.' }
  if (code.startsWith('3D')) return { hint: 'Create the database: `createdb NAME`. gw makes its tables.' }
  if (code === '42501') return { hint: 'The user must own the tables, or the database: see docs/scaling.md.' }
  if (code === '25006')
    return { hint: 'This server is a replica: name the primary one; a replica belongs in GW_STORE_READ.' }
  if (code === '53300')
    return { hint: 'Raise max_connections, or put pgbouncer between: see docs/scaling.md.' }
  if (TLS.test(code)) return { hint: 'Name the certificate of its authority: ?sslrootcert=PATH.' }
  if (message.startsWith('The server does not support SSL'))
    return { hint: 'Switch TLS on in PostgreSQL; in a network that you trust: ?sslmode=disable.' }
  return {}
}
