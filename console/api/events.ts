import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { deletionOf } from './changes.ts'
import type { Shapes } from './client.ts'
import { useConsole } from './context.ts'

/** How long after an answer that is no stream the next attempt comes, at first and at most. */
const RETRY_MS = { first: 2_000, most: 30_000 }

/** How the live view is connected. */
export type Connection = 'connecting' | 'live' | 'lost'

function pagesIn(data: unknown): number {
  return (data as { readonly pages: readonly unknown[] } | undefined)?.pages.length ?? 0
}

/**
 * Listens to the events of the control plane: stores live statistics as they come, and repeats the queries of the page
 * after each change. A hidden page does not listen: a browser has six connections to a server over HTTP/1.1, for all pages
 * together.
 */
export function useEvents(isEnabled: boolean): Connection {
  const { queries } = useConsole()
  const client = useQueryClient()
  const [connection, setConnection] = useState<Connection>('connecting')
  useEffect(() => {
    if (!isEnabled) return undefined
    let source: EventSource | undefined
    let timer: ReturnType<typeof setTimeout> | undefined
    let pauseMs = RETRY_MS.first
    const read = (message: MessageEvent<string>) => JSON.parse(message.data) as Shapes['event']
    const refresh = () =>
      client.invalidateQueries({
        predicate: ({ queryKey: [kind, name] }) =>
          kind !== 'live-stats' && client.isMutating({ mutationKey: deletionOf(name) }) === 0,
      })
    const connect = () => {
      const opened = new EventSource('/api/v1/events')
      source = opened
      opened.addEventListener('status', () => {
        setConnection('live')
        pauseMs = RETRY_MS.first
        // Events may have been missed while the connection was lost.
        void refresh()
      })
      opened.addEventListener('changed', () => void refresh())
      opened.addEventListener('calls', () => {
        void client.invalidateQueries({
          // A list with more than one page is not refreshed: its rows would move while they are read.
          predicate: ({ queryKey: [kind], state }) => kind === 'calls' && pagesIn(state.data) <= 1,
        })
      })
      opened.addEventListener('live_stats', message => {
        const event = read(message)
        if (event.event === 'live_stats') client.setQueryData(queries.liveStats().queryKey, event.live_stats)
      })
      opened.addEventListener('error', () => {
        setConnection('lost')
        if (opened.readyState !== EventSource.CLOSED) return
        // A browser gives up if the answer was an error: of an ended session, too many streams, a proxy in front.
        void client.invalidateQueries({ queryKey: ['session'] })
        timer = setTimeout(connect, pauseMs)
        pauseMs = Math.min(2 * pauseMs, RETRY_MS.most)
      })
    }
    const disconnect = () => {
      clearTimeout(timer)
      source?.close()
      source = undefined
    }
    const onVisibility = () => {
      if (document.hidden) disconnect()
      else if (!source) connect()
    }
    document.addEventListener('visibilitychange', onVisibility)
    onVisibility()
    return () => {
      document.removeEventListener('visibilitychange', onVisibility)
      disconnect()
    }
  }, [isEnabled, client, queries])
  return connection
}
