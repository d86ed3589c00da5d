import { CSPProvider } from '@base-ui/react/csp-provider'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { createApi, Unreachable } from './api/client.ts'
import { ConsoleContextProvider } from './api/context.ts'
import { queriesOf } from './api/queries.ts'
import { createConsoleRouter } from './routes.tsx'
import './style/style.css'
import { showTheme, storedTheme } from './ui/theme.ts'

/** How long data counts as fresh without an event. A page whose events are lost reads older data again on focus. */
const FRESH_MS = 10_000
const RETRIES = 3

function start(root: HTMLElement): void {
  showTheme(storedTheme())
  const client = new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: FRESH_MS,
        // A retry helps only if the connection was lost: the control plane would answer with the same error again.
        retry: (failures, error) => error instanceof Unreachable && failures < RETRIES,
      },
    },
  })
  const api = createApi({
    onEnd: () => client.removeQueries({ predicate: ({ queryKey: [kind] }) => kind !== 'session' }),
    onRejected: () => void client.resetQueries({ queryKey: ['session'] }),
  })
  const console = { api, queries: queriesOf(api) }
  createRoot(root).render(
    <StrictMode>
      <CSPProvider disableStyleElements>
        <QueryClientProvider client={client}>
          <ConsoleContextProvider value={console}>
            <RouterProvider router={createConsoleRouter()} />
          </ConsoleContextProvider>
        </QueryClientProvider>
      </CSPProvider>
    </StrictMode>,
  )
}

const root = document.getElementById('console')
if (root) start(root)
