import { readFileSync } from 'node:fs'
import { CommandError } from '../../base/catalogue/command.ts'

/** Where a database of a PostgreSQL server is, and how to connect. */
export interface PostgresAddress {
  /** A name, an IP address, or the folder of a Unix socket. */
  readonly host: string
  readonly port: number
  readonly database: string
  /** Absent: `PGUSER` or `USER`. */
  readonly user?: string
  /** Absent: `PGPASSWORD` or `~/.pgpass`, as in all programs that use PostgreSQL. */
  readonly password?: string
  readonly tls: Tls
}

/** The words of libpq. `prefer` and `allow` are missing: they protect from nothing. */
type TlsMode = 'disable' | 'require' | 'verify-ca' | 'verify-full'

export interface Tls {
  readonly mode: TlsMode
  /** PEM: the authorities to trust; absent: those of Node. */
  readonly authorities?: string
  /** PEM: the certificate of the client, and its key. */
  readonly certificate?: string
  readonly key?: string
}

const MODES: readonly string[] = ['disable', 'require', 'verify-ca', 'verify-full'] satisfies TlsMode[]
const PARAMETERS = ['host', 'password_file', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey']
const DEFAULT_PORT = 5432
const HINT =
  'Write postgres://USER@HOST/DATABASE, with ?password_file=PATH or the password in PGPASSWORD: see docs/scaling.md.'

/**
 * `postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=…` as all programs that use PostgreSQL write it, with
 * `password_file` besides. Without `sslmode` it is `verify-full`, but for hosts of this machine `disable`.
 *
 * Error messages never repeat the URL: it may contain a password.
 * @param name of the option or variable that has the URL, for error messages.
 * @throws {CommandError} usage
 */
export function parsePostgresUrl(url: string, name: string): PostgresAddress {
  const reject = (message: string) => new CommandError('usage', `${name}: ${message}`, { hint: HINT })
  const parsed = URL.parse(url)
  if (!parsed) throw reject('it is not a URL.')
  const { searchParams: parameters } = parsed
  const unknown = [...parameters.keys()].find(parameter => !PARAMETERS.includes(parameter))
  if (unknown !== undefined)
    throw reject(`the parameter ${unknown} is unknown: there are ${PARAMETERS.join(', ')}.`)
  const database = decode(parsed.pathname.slice(1))
  if (database === undefined || database === '' || database.includes('/'))
    throw reject('it has no name of a database.')
  const host = parameters.get('host') ?? decode(parsed.hostname.replace(/^\[(.*)\]$/, '$1'))
  if (host === undefined || host === '') throw reject('it has no host.')
  const mode = parameters.get('sslmode') ?? (isOnThisMachine(host) ? 'disable' : 'verify-full')
  if (!isMode(mode)) throw reject(`sslmode is none of ${MODES.join(', ')}.`)
  const user = decode(parsed.username)
  const given = decode(parsed.password)
  const password = given || readSecret(parameters.get('password_file'), reject)
  const authorities = readPem(parameters.get('sslrootcert'), reject)
  const certificate = readPem(parameters.get('sslcert'), reject)
  const key = readPem(parameters.get('sslkey'), reject)
  if ((certificate === undefined) !== (key === undefined)) throw reject('sslcert and sslkey belong together.')
  return {
    host,
    port: parsed.port === '' ? DEFAULT_PORT : Number(parsed.port),
    database,
    ...(user && { user }),
    ...(password && { password }),
    tls: {
      mode,
      ...(authorities !== undefined && { authorities }),
      ...(certificate !== undefined && { certificate }),
      ...(key !== undefined && { key }),
    },
  }
}

/** For messages: without user and password. */
export function nameOfAddress({ host, port, database }: PostgresAddress): string {
  const authority = host.startsWith('/') ? host : `${host.includes(':') ? `[${host}]` : host}:${port}`
  return `postgres://${authority}/${database}`
}

function isMode(text: string): text is TlsMode {
  return MODES.includes(text)
}

function isOnThisMachine(host: string): boolean {
  return host.startsWith('/') || host === 'localhost' || host === '::1' || /^127(\.\d+){3}$/.test(host)
}

/** Undefined if the text is not encoded for a URL. */
function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch (error) {
    if (error instanceof URIError) return undefined
    throw error
  }
}

type Reject = (message: string) => CommandError

function readSecret(path: string | null, reject: Reject): string | undefined {
  const text = readPem(path, reject)?.replace(/\r?\n$/, '')
  if (text === '') throw reject(`the password file ${path} is empty.`)
  return text
}

function readPem(path: string | null, reject: Reject): string | undefined {
  if (path === null) return undefined
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw reject(`${path} cannot be read: ${(error as Error).message}.`)
  }
}
