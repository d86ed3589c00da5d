import type { LookupAddress, LookupOptions } from 'node:dns'
import { lookup as systemLookup } from 'node:dns'
import { isMetadataAddress } from '../base/ip-address.ts'

type Callback = (
  error: NodeJS.ErrnoException | null,
  address: string | LookupAddress[],
  family?: number,
) => void

/** `dns.lookup`, or a replacement in tests. */
export type Lookup = (hostname: string, options: LookupOptions, callback: Callback) => void

/**
 * Resolves a name with the system's resolver, and rejects it if one of its addresses is a cloud metadata address: DNS can
 * change after a configuration was reviewed (spec/security.md §6).
 */
export function guardedLookup(lookup: Lookup = systemLookup): Lookup {
  return (hostname, options, callback) => {
    lookup(hostname, options, (error, found, family) => {
      if (error) return callback(error, found, family)
      const addresses = typeof found === 'string' ? [found] : found.map(({ address }) => address)
      if (!addresses.some(isMetadataAddress)) return callback(null, found, family)
      const rejection: NodeJS.ErrnoException = new Error(`${hostname} resolves to a metadata address`)
      rejection.code = 'ELINKLOCAL'
      callback(rejection, [], undefined)
    })
  }
}
