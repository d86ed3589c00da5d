/**
 * The eight groups of an IPv6 address, undefined if the text is not one. A zone (`%eth0`) is ignored, and an IPv4
 * address at the end counts as two groups (RFC 4291 §2.2).
 */
export function ipv6Groups(address: string): readonly number[] | undefined {
  const text = address.replace(/%.*$/, '').toLowerCase()
  if (!text.includes(':')) return undefined
  const halves = text.split('::')
  if (halves.length > 2) return undefined
  const [head, tail] = halves.map(half => groupsOf(half))
  if (!head || (halves.length === 2 && !tail)) return undefined
  const zeros = tail ? Array<number>(Math.max(0, 8 - head.length - tail.length)).fill(0) : []
  const groups = [...head, ...zeros, ...(tail ?? [])]
  return groups.length === 8 ? groups : undefined
}

function groupsOf(half: string): number[] | undefined {
  if (half === '') return []
  const groups: number[] = []
  for (const part of half.split(':')) {
    const ipv4 = ipv4Bytes(part)
    if (ipv4) {
      const [a, b, c, d] = ipv4
      groups.push(a * 256 + b, c * 256 + d)
    } else if (/^[0-9a-f]{1,4}$/.test(part)) groups.push(Number.parseInt(part, 16))
    else return undefined
  }
  return groups
}

function ipv4Bytes(text: string): readonly [number, number, number, number] | undefined {
  const match = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text)
  if (!match) return undefined
  const [a = 256, b = 256, c = 256, d = 256] = match.slice(1).map(Number)
  return Math.max(a, b, c, d) > 255 ? undefined : [a, b, c, d]
}

/**
 * The IPv4 address inside an IPv6 address, as text: IPv4-compatible and IPv4-mapped (RFC 4291 §2.5.5), NAT64 (RFC 6052,
 * RFC 8215) and 6to4 (RFC 3056).
 */
function embeddedIpv4(groups: readonly number[]): string | undefined {
  const [a, b, c, d, e, f, high = 0, low = 0] = groups
  if (a === 0x2002) return ipv4Text(b ?? 0, c ?? 0)
  const isZeroTo = (count: number) => groups.slice(0, count).every(group => group === 0)
  const isInLastGroups =
    isZeroTo(6) ||
    (isZeroTo(5) && f === 0xffff) ||
    (a === 0x64 && b === 0xff9b && ((c === 0 && d === 0 && e === 0 && f === 0) || c === 1))
  return isInLastGroups ? ipv4Text(high, low) : undefined
}

function ipv4Text(high: number, low: number): string {
  return [high >> 8, high & 255, low >> 8, low & 255].join('.')
}

/** AWS in IPv6: fd00:ec2::254. */
const AWS_METADATA = ipv6Groups('fd00:ec2::254')?.join()
/** Alibaba Cloud, in the shared address space of providers (RFC 6598). */
const ALIBABA_METADATA = '100.100.100.200'

/**
 * Addresses at which clouds serve metadata and credentials: link-local ones (RFC 3927, RFC 4291 §2.5.6), special
 * addresses of single clouds, and IPv6 addresses that contain such an IPv4 address.
 * @param host an address, with or without brackets; false for a name.
 */
export function isMetadataAddress(host: string): boolean {
  const address = host.replace(/^\[|\]$/g, '')
  const groups = ipv6Groups(address)
  if (!groups) return address.startsWith('169.254.') || address === ALIBABA_METADATA
  const [first = 0] = groups
  if ((first & 0xffc0) === 0xfe80 || groups.join() === AWS_METADATA) return true
  const ipv4 = embeddedIpv4(groups)
  return ipv4 !== undefined && isMetadataAddress(ipv4)
}

/** Whether the text is an address, or a network such as `10.0.0.0/8`. */
export function isNetwork(text: string): boolean {
  const [address = '', bits, ...more] = text.split('/')
  const lengthBits = ipv6Groups(address) ? 128 : ipv4Bytes(address) ? 32 : 0
  if (lengthBits === 0 || more.length > 0 || address.includes('%')) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= lengthBits)
}
