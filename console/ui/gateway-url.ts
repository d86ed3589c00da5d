import { useSession } from '../api/context.ts'

/** The origin of a gateway, for examples; a placeholder if it is unknown. */
export function useGatewayUrl(): string {
  const { gateway_url: url } = useSession()
  return url === undefined ? 'https://GATEWAY' : reachableOrigin(url)
}

/** The origin of a listen address, as this browser reaches it: `0.0.0.0` and `::` become the host name of this page. */
export function reachableOrigin(listening: string): string {
  const url = new URL(listening)
  if (['0.0.0.0', '[::]'].includes(url.hostname)) url.hostname = location.hostname
  return url.origin
}
