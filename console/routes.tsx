import { useQuery } from '@tanstack/react-query'
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  stringifySearchWith,
} from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { LoggedOut } from './api/client.ts'
import { SessionProvider, useConsole } from './api/context.ts'
import { LogIn, takeLink } from './pages/log-in.tsx'
import { Empty, Failure, PageHead } from './ui/page.tsx'
import { Shell } from './ui/shell.tsx'

/** Shows the log-in instead of the page if there is no session. The address stays, so that the page follows the log-in. */
function Gate() {
  const { queries } = useConsole()
  const session = useQuery({ ...queries.session(), staleTime: Number.POSITIVE_INFINITY })
  const [link, setLink] = useState(takeLink)
  // A link may also be opened in a tab that has a page already.
  useEffect(() => {
    const take = () => {
      const taken = takeLink()
      if (taken !== '') setLink(taken)
    }
    addEventListener('hashchange', take)
    return () => removeEventListener('hashchange', take)
  }, [])
  const logIn = (note: string) => <LogIn note={note} link={link} onLinkUsed={() => setLink('')} />
  // An error comes beside the data of before.
  if (session.error instanceof LoggedOut) return logIn(session.error.message)
  if (session.data && link !== '')
    return logIn(`This browser is logged in as ${session.data.user.name}. The link ends that.`)
  if (session.data)
    return (
      <SessionProvider value={session.data}>
        <Shell key={session.data.csrf_token} />
      </SessionProvider>
    )
  if (!session.error) return null
  return (
    <main className="alone">
      <Failure error={session.error} />
      <button type="button" className="button" onClick={() => void session.refetch()}>
        Try again
      </button>
    </main>
  )
}

function Missing() {
  return (
    <>
      <PageHead title="No such page" />
      <Empty>The menu has all pages.</Empty>
    </>
  )
}

const root = createRootRoute({ component: Gate, notFoundComponent: Missing })

function page<Path extends string>(path: Path, load: () => Promise<Record<string, unknown>>, name: string) {
  return createRoute({
    getParentRoute: () => root,
    path,
    component: lazyRouteComponent(load as () => Promise<Record<string, () => React.ReactNode>>, name),
    // Dialogs and secrets of one resource must not stay open above another.
    remountDeps: ({ params }) => params,
  })
}

/** Each page is a file of its own, which is loaded when it is opened. */
const routes = root.addChildren([
  page('/', () => import('./pages/overview.tsx'), 'Overview'),
  page('/endpoints', () => import('./pages/endpoints.tsx'), 'Endpoints'),
  page('/endpoints/$name', () => import('./pages/endpoint.tsx'), 'Endpoint'),
  page('/nodes', () => import('./pages/nodes.tsx'), 'Nodes'),
  page('/nodes/$name', () => import('./pages/node.tsx'), 'Node'),
  page('/publications', () => import('./pages/publications.tsx'), 'Publications'),
  page('/publications/$name', () => import('./pages/publication.tsx'), 'Publication'),
  page('/models', () => import('./pages/models.tsx'), 'Models'),
  page('/tenants', () => import('./pages/tenants.tsx'), 'Tenants'),
  page('/tenants/$name', () => import('./pages/tenant.tsx'), 'Tenant'),
  page('/wallet', () => import('./pages/wallet.tsx'), 'OwnWallet'),
  page('/keys', () => import('./pages/keys.tsx'), 'Keys'),
  page('/keys/$name', () => import('./pages/key.tsx'), 'Key'),
  page('/setup', () => import('./pages/setup.tsx'), 'Setup'),
  page('/playground', () => import('./pages/playground.tsx'), 'Playground'),
  page('/why', () => import('./pages/why.tsx'), 'Why'),
  page('/calls', () => import('./pages/calls.tsx'), 'Calls'),
  page('/usage', () => import('./pages/usage.tsx'), 'Usage'),
  page('/sets', () => import('./pages/sets.tsx'), 'Sets'),
  page('/plan', () => import('./pages/plan.tsx'), 'Plan'),
  page('/maintenance', () => import('./pages/maintenance.tsx'), 'Maintenance'),
  page('/users', () => import('./pages/users.tsx'), 'Users'),
  page('/history', () => import('./pages/history.tsx'), 'History'),
  page('/audit', () => import('./pages/audit.tsx'), 'Audit'),
  page('/account', () => import('./pages/account.tsx'), 'Account'),
])

export function createConsoleRouter() {
  return createRouter({
    routeTree: routes,
    basepath: '/console',
    // Without this, 12 or true in a filter would be no text.
    parseSearch: text => Object.fromEntries(new URLSearchParams(text)),
    stringifySearch: stringifySearchWith(String),
    defaultPreload: 'intent',
    scrollRestoration: false,
    defaultErrorComponent: ({ error }) => (
      <Failure error={error instanceof Error ? error : new Error(String(error))} />
    ),
  })
}
