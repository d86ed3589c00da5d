import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { deletionOf } from './changes.ts'
import type { Shapes } from './client.ts'
import { useConsole } from './context.ts'

/** How the live view is connected. */
export type Connection = 'connecting' | 'live' | 'lost'

function pagesIn(data: unknown): number {
  return (data as { readonly pages: readonly unknown[] } | undefined)?.pages.length ?? 0
}

/**
 * Listens to the events of the control plane: stores live statistics as they come, and repeats the queries of the page
 * after each change.
 */
export function useEvents(isEnabled: boolean): Connection {
  const { queries } = useConsole()
  const client = useQueryClient()
  const [connection, setConnection] = useState<Connection>('connecting')
  useEffect(() => {
    if (!isEnabled) return undefined
    const source = new EventSource('/api/v1/events')
    const read = (message: MessageEvent<string>) => JSON.parse(message.data) as Shapes['event']
    const refresh = () =>
      client.invalidateQueries({
        predicate: ({ queryKey: [kind, name] }) =>
          kind !== 'live-stats' && client.isMutating({ mutationKey: deletionOf(name) }) === 0,
      })
    source.addEventListener('status', () => {
      setConnection('live')
      // Events may have been missed while the connection was lost.
      void refresh()
    })
    source.addEventListener('changed', () => void refresh())
    source.addEventListener('calls', () => {
      void client.invalidateQueries({
        // A list with more than one page is not refreshed: its rows would move while they are read.
        predicate: ({ queryKey: [kind], state }) => kind === 'calls' && pagesIn(state.data) <= 1,
        refetchType: document.hidden ? 'none' : 'active',
      })
    })
    source.addEventListener('live_stats', message => {
      const event = read(message)
      if (event.event === 'live_stats') client.setQueryData(queries.liveStats().queryKey, event.live_stats)
    })
    source.addEventListener('error', () => {
      setConnection('lost')
      // A browser gives up if the answer was an error, such as that of an ended session.
      if (source.readyState === EventSource.CLOSED) void client.invalidateQueries({ queryKey: ['session'] })
    })
    return () => source.close()
  }, [isEnabled, client, queries])
  return connection
}
