import { isIP } from 'node:net'
import { ApiError } from '../base/catalogue/api.ts'

/** Addresses that stand for every address of a machine. */
const EVERY_ADDRESS: ReadonlySet<string> = new Set(['0.0.0.0', '::'])

/**
 * The names under which the control plane is asked. A page of another site can point a name of its own at this address
 * (DNS rebinding), and its script would then be of the same origin as the control plane: so a name has to be known. An
 * address is none that such a page could have.
 */
export class Hosts {
  readonly #known: ReadonlySet<string>
  readonly #isAnyAddress: boolean

  /** @param host that is listened on. */
  constructor(host: string, publicUrl: URL | undefined) {
    this.#known = new Set([host.toLowerCase(), ...(publicUrl ? [bare(publicUrl.host)] : [])])
    this.#isAnyAddress = EVERY_ADDRESS.has(host)
  }

  /**
   * @param host the header; undefined in HTTP/1.0, which no browser speaks.
   * @throws {ApiError} misdirected
   */
  assertKnown(host: string | undefined): void {
    if (host === undefined) return
    const name = bare(host)
    if (this.#known.has(name) || isLoopback(name) || (this.#isAnyAddress && isIP(name) !== 0)) return
    throw new ApiError('misdirected')
  }
}

/** Without its port, and the brackets of IPv6. */
function bare(host: string): string {
  return host
    .toLowerCase()
    .replace(/:\d+$/, '')
    .replace(/^\[(.*)\]$/, '$1')
}

function isLoopback(name: string): boolean {
  return name === 'localhost' || name === '::1' || (isIP(name) === 4 && name.startsWith('127.'))
}
