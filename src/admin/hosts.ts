import { isIP } from 'node:net'
import { ApiError } from '../base/catalogue/api.ts'

/** Wildcard listen addresses. */
const EVERY_ADDRESS: ReadonlySet<string> = new Set(['0.0.0.0', '::'])

/**
 * The accepted host names of the control plane. A page of another site can point its own name at this address (DNS
 * rebinding); its script would then have the origin of the control plane, so names must be known. IP addresses are
 * safe, because no such page can have one.
 */
export class Hosts {
  readonly #known: ReadonlySet<string>
  readonly #isAnyAddress: boolean

  /** @param host the listen address. */
  constructor(host: string, publicUrl: URL | undefined) {
    this.#known = new Set([host.toLowerCase(), ...(publicUrl ? [bare(publicUrl.host)] : [])])
    this.#isAnyAddress = EVERY_ADDRESS.has(host)
  }

  /**
   * @param host the header; undefined in HTTP/1.0, which browsers do not use.
   * @throws {ApiError} misdirected
   */
  assertKnown(host: string | undefined): void {
    if (host === undefined) return
    const name = bare(host)
    if (this.#known.has(name) || isLoopback(name) || (this.#isAnyAddress && isIP(name) !== 0)) return
    throw new ApiError('misdirected')
  }
}

/** Removes the port, and the brackets of IPv6. */
function bare(host: string): string {
  return host
    .toLowerCase()
    .replace(/:\d+$/, '')
    .replace(/^\[(.*)\]$/, '$1')
}

function isLoopback(name: string): boolean {
  return name === 'localhost' || name === '::1' || (isIP(name) === 4 && name.startsWith('127.'))
}
