import { useQuery } from '@tanstack/react-query'
import { useConsole, useSession } from '../api/context.ts'

/** The address of a gateway for examples; users of a tenant know it from their operator. */
export function useGatewayUrl(): string {
  const { queries } = useConsole()
  const { data } = useQuery({ ...queries.pulse(), enabled: useSession().can('get_pulse') })
  return data?.gateways.find(({ url }) => url !== null)?.url ?? 'https://GATEWAY'
}
