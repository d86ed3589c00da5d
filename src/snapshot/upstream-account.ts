import { isDeepStrictEqual } from 'node:util'
import type { EndpointEntry, Snapshot } from './types.ts'

/** The endpoint that keeps a stored response. */
export interface Keeper {
  /** Its account in the ledger. */
  readonly account: string
  /** Absent if it is no longer configured. */
  readonly endpoint: EndpointEntry | undefined
}

export function keeperOf({ endpoints }: Pick<Snapshot, 'endpoints'>, account: string): Keeper {
  return { account, endpoint: [...endpoints.values()].find(each => each.account === account) }
}

/**
 * Whether an endpoint finds what another one keeps: it is that one, or another model of the same account of the same
 * upstream, by URL, credential, headers and client certificate.
 */
export function findsKept(endpoint: EndpointEntry, { account, endpoint: keeper }: Keeper): boolean {
  if (endpoint.account === account) return true
  return (
    keeper !== undefined &&
    endpoint.protocol === keeper.protocol &&
    endpoint.origin === keeper.origin &&
    endpoint.basePath === keeper.basePath &&
    isDeepStrictEqual(endpoint.headers, keeper.headers) &&
    isDeepStrictEqual(endpoint.tls, keeper.tls)
  )
}
