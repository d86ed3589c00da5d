import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'

/** Proxies whose forwarding headers are trusted. */
export class TrustedProxies {
  readonly #list = new BlockList()

  /** @param proxies addresses and networks, such as `10.0.0.0/8`; see `isNetwork`. */
  constructor(proxies: readonly string[]) {
    for (const proxy of proxies) {
      const [address = '', bits] = proxy.split('/')
      const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
      if (bits === undefined) this.#list.addAddress(address, family)
      else this.#list.addSubnet(address, Number(bits), family)
    }
  }

  /**
   * The client's address: the peer of the connection or, behind trusted proxies, the right-most address that is not a
   * trusted proxy. Addresses left of it are under the client's control. If the headers are unreadable or contradict
   * each other, it is the proxy's address.
   */
  clientOf(req: IncomingMessage): string {
    const peer = unmapped(req.socket.remoteAddress ?? '')
    if (!this.#trusts(peer)) return peer
    const chains = [forwardedFor(req), xForwardedFor(req)].filter(chain => chain !== undefined)
    const clients = new Set(chains.map(chain => this.#clientIn(chain) ?? peer))
    const [client = peer] = clients
    return clients.size > 1 ? peer : client
  }

  /** @param chain from the client to the last proxy. */
  #clientIn(chain: readonly string[]): string | undefined {
    for (const hop of chain.toReversed()) {
      const address = unmapped(hop)
      if (isIP(address) === 0) return undefined
      if (!this.#trusts(address)) return address
    }
    return undefined
  }

  #trusts(address: string): boolean {
    const family = isIP(address)
    return family !== 0 && this.#list.check(address, family === 6 ? 'ipv6' : 'ipv4')
  }
}

/** `forwarded` (RFC 7239): the `for` of each hop. */
function forwardedFor({ headers }: IncomingMessage): string[] | undefined {
  const line = headers['forwarded']
  if (line === undefined) return undefined
  return line.split(',').map(hop => {
    const value = /(?:^|;)\s*for\s*=\s*("[^"]*"|[^;\s]+)/i.exec(hop)?.[1] ?? ''
    return withoutPort(value.replaceAll('"', ''))
  })
}

function xForwardedFor({ headers }: IncomingMessage): string[] | undefined {
  const lines = headers['x-forwarded-for']
  if (lines === undefined) return undefined
  return String(lines)
    .split(',')
    .map(hop => withoutPort(hop.trim()))
}

/** `[2001:db8::1]:80` and `192.0.2.1:80` without their ports. */
function withoutPort(hop: string): string {
  return /^\[([^\]]*)\](?::\d+)?$/.exec(hop)?.[1] ?? /^([\d.]+):\d+$/.exec(hop)?.[1] ?? hop
}

/** Unwraps an IPv4-mapped IPv6 address. */
function unmapped(address: string): string {
  return /^::ffff:([\d.]+)$/i.exec(address)?.[1] ?? address
}
