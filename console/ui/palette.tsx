import { useQueries } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useConsole, useSession } from '../api/context.ts'
import { Dialog } from './dialog.tsx'
import { navigationOf } from './navigation.ts'

interface Target {
  readonly label: string
  readonly kind: string
  readonly to: string
  readonly search?: Readonly<Record<string, string>>
}

const SHOWN = 14

/** Goes to a page or a resource by a part of its name. */
export function Palette({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }) {
  return (
    <Dialog title="Go to" isOpen={isOpen} onClose={onClose}>
      <Search onClose={onClose} />
    </Dialog>
  )
}

function Search({ onClose }: { readonly onClose: () => void }) {
  const [text, setText] = useState('')
  const [marked, setMarked] = useState(0)
  const navigate = useNavigate()
  const found = useTargets(text.trim()).slice(0, SHOWN)
  const go = (target: Target | undefined) => {
    if (!target) return
    onClose()
    void navigate({ to: target.to, search: target.search ?? {} })
  }
  const onKeyDown = (event: React.KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) {
      event.preventDefault()
      setMarked((marked + step + found.length) % Math.max(1, found.length))
    } else if (event.key === 'Enter') {
      event.preventDefault()
      go(found[marked])
    }
  }
  return (
    <>
      <input
        type="search"
        role="combobox"
        aria-label="Page or resource"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={`palette-${marked}`}
        placeholder="A page, an endpoint, a model, a key …"
        autoComplete="off"
        value={text}
        onChange={event => {
          setText(event.target.value)
          setMarked(0)
        }}
        onKeyDown={onKeyDown}
      />
      <ul className="palette" role="listbox" id="palette-list" aria-label="Found">
        {found.map((target, index) => (
          <li
            key={`${target.kind}/${target.to}`}
            id={`palette-${index}`}
            role="option"
            aria-selected={index === marked}
            onPointerDown={() => go(target)}
          >
            <span>{target.label}</span>
            <span className="note">{target.kind}</span>
          </li>
        ))}
      </ul>
      {found.length === 0 && <p className="note">Nothing has this name.</p>}
    </>
  )
}

/** What can be begun from anywhere. */
const VERBS = [
  { label: 'New endpoint', to: '/endpoints', needs: 'create_endpoint' },
  { label: 'New model', to: '/publications', needs: 'create_publication' },
  { label: 'New key', to: '/keys', needs: 'create_key' },
  { label: 'New tenant', to: '/tenants', needs: 'create_tenant' },
] as const

/** How many resources of a kind are found at once. */
const FOUND = 6

/** The pages, the verbs, and the resources of each kind whose name has the text. */
function useTargets(text: string): readonly Target[] {
  const { api } = useConsole()
  const session = useSession()
  const names = async (
    answer: Promise<{ readonly data?: { readonly data: readonly { readonly name: string }[] } }>,
  ) => (await answer).data?.data.map(({ name }) => name) ?? []
  const params = { query: { limit: FOUND, ...(text !== '' && { q: text.slice(0, 128) }) } }
  const kept = { staleTime: 5_000, placeholderData: (before: string[] | undefined) => before }
  const [endpoints, publications, keys, tenants] = useQueries({
    queries: [
      {
        queryKey: ['endpoints', 'found', text],
        queryFn: () => names(api.GET('/api/v1/endpoints', { params })),
        enabled: session.can('list_endpoints'),
        ...kept,
      },
      {
        queryKey: ['publications', 'found', text],
        queryFn: () => names(api.GET('/api/v1/publications', { params })),
        enabled: session.can('list_publications'),
        ...kept,
      },
      {
        queryKey: ['keys', 'found', text],
        queryFn: () => names(api.GET('/api/v1/keys', { params })),
        enabled: session.can('list_keys'),
        ...kept,
      },
      {
        queryKey: ['tenants', 'found', text],
        queryFn: () => names(api.GET('/api/v1/tenants', { params })),
        enabled: session.can('list_tenants') && session.user.role === 'admin',
        ...kept,
      },
    ],
  })
  const resources = (kind: string, path: string, found: readonly string[] = []): Target[] =>
    found.map(name => ({ label: name, kind, to: `${path}/${encodeURIComponent(name)}` }))
  const has = ({ label, kind }: Target) => `${kind} ${label}`.toLowerCase().includes(text.toLowerCase())
  return [
    ...navigationOf(session).flatMap(({ title, entries }) =>
      entries.map(({ label, to }) => ({ label, kind: title, to })),
    ),
    ...VERBS.filter(({ needs }) => session.can(needs)).map(({ label, to }) => ({
      label,
      kind: 'begin',
      to,
      search: { new: 'yes' },
    })),
  ]
    .filter(has)
    .concat([
      ...resources('endpoint', '/endpoints', endpoints.data),
      ...resources('model', '/publications', publications.data),
      ...resources('key', '/keys', keys.data),
      ...resources('tenant', '/tenants', tenants.data),
    ])
}
