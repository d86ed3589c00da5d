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
}

const SHOWN = 12

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
  const targets = useTargets()
  const found = targets
    .filter(({ label, kind }) => `${kind} ${label}`.toLowerCase().includes(text.trim().toLowerCase()))
    .slice(0, SHOWN)
  const go = (target: Target | undefined) => {
    if (!target) return
    onClose()
    void navigate({ to: target.to })
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

/** The pages, and the first resources of each kind. */
function useTargets(): readonly Target[] {
  const { api } = useConsole()
  const session = useSession()
  const names = async (
    answer: Promise<{ readonly data?: { readonly data: readonly { readonly name: string }[] } }>,
  ) => (await answer).data?.data.map(({ name }) => name) ?? []
  const query = { params: { query: { limit: 500 } } } as const
  const [endpoints, publications, keys] = useQueries({
    queries: [
      {
        queryKey: ['endpoints', 'names'],
        queryFn: () => names(api.GET('/api/v1/endpoints', query)),
        enabled: session.can('list_endpoints'),
      },
      {
        queryKey: ['publications', 'names'],
        queryFn: () => names(api.GET('/api/v1/publications', query)),
        enabled: session.can('list_publications'),
      },
      {
        queryKey: ['keys', 'names'],
        queryFn: () => names(api.GET('/api/v1/keys', query)),
        enabled: session.can('list_keys'),
      },
    ],
  })
  const resources = (kind: string, path: string, found: readonly string[] = []): Target[] =>
    found.map(name => ({ label: name, kind, to: `${path}/${encodeURIComponent(name)}` }))
  return [
    ...navigationOf(session).flatMap(({ title, entries }) =>
      entries.map(({ label, to }) => ({ label, kind: title, to })),
    ),
    ...resources('endpoint', '/endpoints', endpoints.data),
    ...resources('model', '/publications', publications.data),
    ...resources('key', '/keys', keys.data),
  ]
}
