import { useSession } from '../api/context.ts'

/** The address of a gateway, for examples. */
export function useGatewayUrl(): string {
  const { gateway_url: url } = useSession()
  return url === undefined ? 'https://GATEWAY' : seenFromHere(url)
}

/** A gateway that listens everywhere is reached by the name under which this page is. */
export function seenFromHere(listening: string): string {
  const url = new URL(listening)
  if (['0.0.0.0', '[::]'].includes(url.hostname)) url.hostname = location.hostname
  return url.origin
}
