import { timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { ApiError } from '../../base/catalogue/api.ts'
import type { Carrier } from '../../schema/user.ts'

/** The credential of a request. */
export interface PresentedCredential {
  readonly token: string
  readonly carrier: Carrier
}

/** The session cookie. Its name and attributes depend on TLS in front of the control plane. */
export interface SessionCookie {
  readonly name: string
  /** The header that sets it. */
  set(token: string, maxAgeMs: number): string
  /** The header that deletes it. */
  clear(): string
  /** The header that sets the token of a browser with a log-in. */
  setDevice(device: string): string
  /** The device token of a request. */
  deviceOf(req: IncomingMessage): string | undefined
}

const DEVICE = /^[\w-]{43}$/
const DEVICE_MAX_AGE_S = 365 * 86_400

/**
 * @param publicUrl the URL of the control plane for browsers. With `https:` the cookie is `Secure` and bound to the
 * exact host (`__Host-`, RFC 6265bis §4.1.3.2); without TLS a browser would not send such a cookie.
 */
export function sessionCookie(publicUrl: URL | undefined): SessionCookie {
  const isSecure = publicUrl?.protocol === 'https:'
  const prefix = isSecure ? '__Host-' : ''
  const name = `${prefix}gw_session`
  const deviceName = `${prefix}gw_device`
  const attributes = `Path=/; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`
  return {
    name,
    set: (token, maxAgeMs) => `${name}=${token}; Max-Age=${Math.floor(maxAgeMs / 1_000)}; ${attributes}`,
    clear: () => `${name}=; Max-Age=0; ${attributes}`,
    setDevice: device => `${deviceName}=${device}; Max-Age=${DEVICE_MAX_AGE_S}; ${attributes}`,
    deviceOf(req) {
      const [device, ...others] = cookiesOf(req, deviceName)
      return others.length === 0 && device !== undefined && DEVICE.test(device) ? device : undefined
    },
  }
}

/**
 * The credential of a request. With both a bearer token and a cookie, only the bearer token counts.
 *
 * @throws {ApiError} not_logged_in if one is repeated: the choice between two would be ambiguous.
 */
export function presentedCredential(
  req: IncomingMessage,
  cookieName: string,
): PresentedCredential | undefined {
  const lines = linesOf(req, 'authorization')
  if (lines.length > 1) throw new ApiError('not_logged_in')
  const [line] = lines
  if (line !== undefined) {
    const token = /^Bearer +(\S+)$/i.exec(line)?.[1]
    if (token === undefined) throw new ApiError('not_logged_in')
    return { token, carrier: 'bearer' }
  }
  const [token, ...others] = cookiesOf(req, cookieName)
  if (others.length > 0) throw new ApiError('not_logged_in')
  return token === undefined ? undefined : { token, carrier: 'cookie' }
}

/**
 * Rejects cross-site changes. A browser attaches the cookie to requests of any page, so a change must also carry what
 * a page of another site cannot send (OWASP, "Cross-Site Request Forgery Prevention").
 *
 * @throws {ApiError} cross_site
 */
export function assertSameSite(
  req: IncomingMessage,
  csrfToken: string | undefined,
  publicUrl: URL | undefined,
): void {
  const site = req.headers['sec-fetch-site']
  const { origin } = req.headers
  const reject = (message: string) => new ApiError('cross_site', message)
  if (!isJson(req)) throw reject('A change by cookie must be sent as application/json.')
  if (site === undefined && origin === undefined) throw reject('Neither Sec-Fetch-Site nor Origin was sent.')
  if (site !== undefined && site !== 'same-origin') throw reject('The request comes from another site.')
  if (origin !== undefined && !isOwnOrigin(origin, req.headers.host ?? '', publicUrl))
    throw reject('The request comes from another origin.')
  if (csrfToken === undefined) return
  const sent = req.headers['x-csrf-token']
  if (typeof sent !== 'string' || !isSame(sent, csrfToken))
    throw reject('The x-csrf-token of the session is missing or wrong.')
}

/** Whether the content type is JSON. */
export function isJson(req: IncomingMessage): boolean {
  return /^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i.test(req.headers['content-type'] ?? '')
}

function isOwnOrigin(origin: string, host: string, publicUrl: URL | undefined): boolean {
  return publicUrl ? origin === publicUrl.origin : origin.toLowerCase() === `http://${host.toLowerCase()}`
}

function isSame(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}

/** Every value of a cookie. */
function cookiesOf(req: IncomingMessage, name: string): string[] {
  return linesOf(req, 'cookie')
    .flatMap(cookies => cookies.split(';'))
    .map(cookie => cookie.trim())
    .filter(cookie => cookie.startsWith(`${name}=`))
    .map(cookie => cookie.slice(name.length + 1))
}

function linesOf(req: IncomingMessage, name: string): string[] {
  const values: string[] = []
  for (let index = 0; index < req.rawHeaders.length; index += 2) {
    if (req.rawHeaders[index]?.toLowerCase() === name) values.push(req.rawHeaders[index + 1] ?? '')
  }
  return values
}
