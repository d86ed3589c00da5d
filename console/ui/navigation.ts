import type { IconName } from './icons.tsx'

export interface NavigationEntry {
  readonly to: string
  readonly label: string
  readonly icon: IconName
}

export interface NavigationGroup {
  readonly title: string
  readonly entries: readonly NavigationEntry[]
}

interface Row extends NavigationEntry {
  /** The operation that the page cannot do without. */
  readonly needs: string
}

const GROUPS: readonly { readonly title: string; readonly rows: readonly Row[] }[] = [
  {
    title: 'Home',
    rows: [
      { to: '/', label: 'Overview', icon: 'overview', needs: 'get_session' },
      { to: '/setup', label: 'Setup', icon: 'setup', needs: 'create_endpoint' },
    ],
  },
  {
    title: 'Infrastructure',
    rows: [{ to: '/endpoints', label: 'Access Endpoints', icon: 'endpoints', needs: 'list_endpoints' }],
  },
  {
    title: 'Release Center',
    rows: [{ to: '/publications', label: 'Model Publishing', icon: 'models', needs: 'list_publications' }],
  },
  {
    title: 'Developer Tools',
    rows: [
      { to: '/keys', label: 'API Keys', icon: 'keys', needs: 'list_keys' },
      { to: '/playground', label: 'Playground', icon: 'playground', needs: 'call_playground' },
      { to: '/why', label: 'Why', icon: 'why', needs: 'explain' },
    ],
  },
  {
    title: 'Operation',
    rows: [
      { to: '/calls', label: 'Calls', icon: 'calls', needs: 'list_calls' },
      { to: '/usage', label: 'Usage and cost', icon: 'usage', needs: 'get_usage' },
    ],
  },
  {
    title: 'Configuration',
    rows: [
      { to: '/history', label: 'History', icon: 'history', needs: 'list_revisions' },
      { to: '/audit', label: 'Audit', icon: 'audit', needs: 'list_audit' },
    ],
  },
]

/** The pages that a session may use. */
export function navigationOf({
  can,
}: {
  readonly can: (operation: string) => boolean
}): readonly NavigationGroup[] {
  return GROUPS.map(({ title, rows }) => ({ title, entries: rows.filter(({ needs }) => can(needs)) })).filter(
    ({ entries }) => entries.length > 0,
  )
}
