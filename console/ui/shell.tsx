import { Menu } from '@base-ui/react/menu'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, Outlet } from '@tanstack/react-router'
import { useState } from 'react'
import { useConsole, useSession } from '../api/context.ts'
import { type Connection, useEvents } from '../api/events.ts'
import { State } from './badges.tsx'
import { Icon } from './icons.tsx'
import { type NavigationEntry, navigationOf } from './navigation.ts'
import { Palette } from './palette.tsx'
import { RowFocusProvider, useRowMemory } from './row-focus.tsx'
import { Shortcuts } from './shortcuts.tsx'
import { type Theme, useTheme } from './theme.ts'

/** The frame of every page behind the log-in. */
export function Shell() {
  const session = useSession()
  const [isOpen, setOpen] = useState(false)
  const [isPaletteOpen, setPaletteOpen] = useState(false)
  const connection = useEvents(session.can('watch_events'))
  const groups = navigationOf(session)
  const memory = useRowMemory()
  return (
    <div className="shell">
      <a className="skip" href="#content">
        Skip to the content
      </a>
      <header className="top">
        <button
          type="button"
          className="button quiet only-narrow"
          aria-label="Menu"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          <Icon name={isOpen ? 'close' : 'menu'} />
        </button>
        <Link to="/" className="brand">
          gw
        </Link>
        <button type="button" className="search" onClick={() => setPaletteOpen(true)}>
          <Icon name="search" />
          <span className="unseen-on-phone">Search</span>
          <kbd>Ctrl K</kbd>
        </button>
        <div className="top-right">
          {session.can('watch_events') && <LiveState connection={connection} />}
          <UserMenu />
        </div>
      </header>
      <nav className={isOpen ? 'side open' : 'side'} aria-label="Main">
        {groups.map(({ title, entries }) => (
          <div key={title}>
            <h2>{title}</h2>
            <ul>
              {entries.map(entry => (
                <li key={entry.to}>
                  <SideLink entry={entry} onOpen={() => setOpen(false)} />
                </li>
              ))}
            </ul>
          </div>
        ))}
      </nav>
      <main id="content" tabIndex={-1}>
        <RowFocusProvider value={memory}>
          <Outlet />
        </RowFocusProvider>
      </main>
      <Shortcuts groups={groups} onSearch={() => setPaletteOpen(true)} />
      <Palette isOpen={isPaletteOpen} onClose={() => setPaletteOpen(false)} />
    </div>
  )
}

function SideLink({
  entry: { to, label, icon },
  onOpen,
}: {
  readonly entry: NavigationEntry
  readonly onOpen: () => void
}) {
  return (
    <Link
      to={to}
      onClick={onOpen}
      activeOptions={{ exact: to === '/' }}
      activeProps={{ 'aria-current': 'page' }}
    >
      <Icon name={icon} />
      {label}
    </Link>
  )
}

/** The revision in service; or that the page is not live. */
function LiveState({ connection }: { readonly connection: Connection }) {
  const { queries } = useConsole()
  const { data: live } = useQuery({ ...queries.liveStats(), enabled: false })
  if (connection === 'lost') return <State state="Reconnecting…" tone="warn" />
  if (!live) return null
  const { gateways, store_revision: revision } = live
  const serving = gateways.filter(({ state }) => state !== 'silent')
  const isBehind = serving.some(({ behind }) => behind)
  if (serving.length === 0) return <State state="no gateway serves" tone="bad" />
  if (isBehind) return <State state={`revision ${revision} is not served yet`} tone="warn" />
  const other = serving.find(({ state }) => state !== 'ok')
  return other ? (
    <State state={`revision ${revision}, ${other.state}`} tone="warn" />
  ) : (
    <State state={`revision ${revision}`} tone="good" />
  )
}

const THEMES: readonly (readonly [Theme, string])[] = [
  ['system', 'System'],
  ['light', 'Light'],
  ['dark', 'Dark'],
]

function UserMenu() {
  const { user, can } = useSession()
  const { api } = useConsole()
  const client = useQueryClient()
  const [theme, setTheme] = useTheme()
  const leaving = useMutation({
    mutationFn: () => api.DELETE('/api/v1/session'),
    onSuccess: () => api.end(),
    onSettled: () => client.resetQueries({ queryKey: ['session'] }),
  })
  return (
    <Menu.Root>
      <Menu.Trigger className="button quiet">
        <Icon name="account" />
        <span className="unseen-on-phone">{user.name}</span>
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner sideOffset={4} align="end">
          <Menu.Popup className="menu">
            <div className="menu-note">
              {user.name} · {user.role === 'admin' ? 'administrator' : user.tenant}
            </div>
            <Menu.RadioGroup value={theme} onValueChange={chosen => setTheme(chosen as Theme)}>
              {THEMES.map(([value, label]) => (
                <Menu.RadioItem key={value} value={value} className="menu-item">
                  <span className="menu-mark">
                    <Menu.RadioItemIndicator>✓</Menu.RadioItemIndicator>
                  </span>
                  {label} theme
                </Menu.RadioItem>
              ))}
            </Menu.RadioGroup>
            <Menu.Separator className="menu-line" />
            {can('change_password') && (
              <Menu.Item className="menu-item" render={<Link to="/account" />}>
                Account
              </Menu.Item>
            )}
            <Menu.Item className="menu-item" onClick={() => leaving.mutate()}>
              Log out
            </Menu.Item>
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  )
}
