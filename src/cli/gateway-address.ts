import { InvalidArgumentError } from 'commander'
import type { LiveStatsSources } from '../services/live-stats/monitor.ts'
import type { Session } from './session.ts'

/** The argument of `--gateway`: only an origin, since a token may be sent there. */
export function gatewayAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`) return url.origin
  throw new InvalidArgumentError('Write http:// or https:// and a host, without a path.')
}

/** The data sources of `gw top` and `gw status`. */
export function liveStatsSources({ flags, io }: Session, url: string | undefined): LiveStatsSources {
  const token = io.environment['METRICS_TOKEN']?.trim()
  return { storeUrl: flags.store, ...(url !== undefined && { url }), ...(token && { metricsToken: token }) }
}
