import type { IconName } from './icons.tsx'

export interface NavigationEntry {
  readonly to: string
  readonly label: string
  readonly icon: IconName
  /** Pressed after `g` it leads to the page. */
  readonly letter?: string
}

export interface NavigationGroup {
  readonly title: string
  readonly entries: readonly NavigationEntry[]
}

interface Row extends NavigationEntry {
  /** The operation that the page cannot do without. */
  readonly needs: string
  /** Only for users of this role: the others have another page for it. */
  readonly role?: 'admin' | 'tenant'
}

const GROUPS: readonly { readonly title: string; readonly rows: readonly Row[] }[] = [
  {
    title: 'Home',
    rows: [
      { to: '/', letter: 'o', label: 'Overview', icon: 'overview', needs: 'get_session' },
      { to: '/setup', letter: 's', label: 'Setup', icon: 'setup', needs: 'create_endpoint' },
    ],
  },
  {
    title: 'Infrastructure',
    rows: [
      {
        to: '/endpoints',
        letter: 'e',
        label: 'Access Endpoints',
        icon: 'endpoints',
        needs: 'list_endpoints',
      },
      { to: '/nodes', letter: 'i', label: 'Nodes', icon: 'nodes', needs: 'list_nodes' },
    ],
  },
  {
    title: 'Release Center',
    rows: [
      {
        to: '/publications',
        letter: 'm',
        label: 'Model Publishing',
        icon: 'models',
        needs: 'list_publications',
      },
    ],
  },
  {
    title: 'Developer Tools',
    rows: [
      { to: '/models', letter: 'm', label: 'Models', icon: 'models', needs: 'list_models', role: 'tenant' },
      { to: '/keys', letter: 'k', label: 'API Keys', icon: 'keys', needs: 'list_keys' },
      { to: '/playground', letter: 'p', label: 'Playground', icon: 'playground', needs: 'call_playground' },
      { to: '/why', letter: 'w', label: 'Why', icon: 'why', needs: 'explain' },
    ],
  },
  {
    title: 'Operation',
    rows: [
      { to: '/calls', letter: 'c', label: 'Calls', icon: 'calls', needs: 'list_calls' },
      { to: '/usage', letter: 'u', label: 'Usage and cost', icon: 'usage', needs: 'get_usage' },
      { to: '/wallet', letter: 't', label: 'Wallet', icon: 'wallet', needs: 'get_wallet', role: 'tenant' },
      {
        to: '/tenants',
        letter: 't',
        label: 'Tenants and wallets',
        icon: 'tenants',
        needs: 'list_tenants',
        role: 'admin',
      },
    ],
  },
  {
    title: 'Configuration',
    rows: [
      { to: '/sets', label: 'Sets', icon: 'config', needs: 'list_sets' },
      { to: '/plan', letter: 'd', label: 'Plan', icon: 'plan', needs: 'plan_config' },
      { to: '/history', letter: 'h', label: 'History', icon: 'history', needs: 'list_revisions' },
    ],
  },
  {
    title: 'Administration',
    rows: [
      { to: '/users', letter: 'n', label: 'Users and tokens', icon: 'users', needs: 'list_users' },
      { to: '/audit', letter: 'a', label: 'Audit', icon: 'audit', needs: 'list_audit' },
      { to: '/maintenance', label: 'Maintenance', icon: 'maintenance', needs: 'get_maintenance' },
    ],
  },
]

/** The pages that a session may use. */
export function navigationOf({
  can,
  user,
}: {
  readonly can: (operation: string) => boolean
  readonly user: { readonly role: 'admin' | 'tenant' }
}): readonly NavigationGroup[] {
  const isShown = ({ needs, role = user.role }: Row) => can(needs) && role === user.role
  return GROUPS.map(({ title, rows }) => ({ title, entries: rows.filter(isShown) })).filter(
    ({ entries }) => entries.length > 0,
  )
}
