import { useNavigate, useRouterState } from '@tanstack/react-router'
import { type ReactNode, useEffect, useState } from 'react'
import { ChoiceField, TextField } from './fields.tsx'

/**
 * The filters of a page, in its address: a link to the page has them, and "back" undoes them. Those that have their
 * default are left out.
 */
export function useFilters<Name extends string>(
  defaults: Readonly<Record<Name, string>>,
): readonly [Readonly<Record<Name, string>>, (change: Partial<Record<Name, string>>) => void] {
  const search = useRouterState({
    select: ({ location }) => location.search as Record<string, string | undefined>,
  })
  const navigate = useNavigate()
  const names = Object.keys(defaults) as Name[]
  const values = Object.fromEntries(names.map(name => [name, search[name] ?? defaults[name]])) as Record<
    Name,
    string
  >
  const change = (changes: Partial<Record<Name, string>>) => {
    const next = Object.entries<string>({ ...values, ...changes }).filter(
      ([name, value]) => value !== defaults[name as Name],
    )
    void navigate({ to: '.', search: Object.fromEntries(next), replace: true, resetScroll: false })
  }
  return [values, change]
}

const SETTLED_MS = 250

/** A filter by text: it takes effect when the typing pauses. */
export function TextFilter({
  label,
  value,
  onChange,
  ...input
}: {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly placeholder?: string
  readonly list?: string
}) {
  const [text, setText] = useState(value)
  const [seen, setSeen] = useState(value)
  if (seen !== value) {
    // Changed from elsewhere, such as by "back".
    setSeen(value)
    setText(value)
  }
  useEffect(() => {
    if (text.trim() === value) return undefined
    const timer = setTimeout(() => onChange(text.trim()), SETTLED_MS)
    return () => clearTimeout(timer)
  })
  return (
    <TextField {...input} label={label} type="search" value={text} onChange={setText} autoComplete="off" />
  )
}

const OWNERS = [
  { value: '', label: 'all' },
  { value: 'config', label: 'files' },
  { value: 'rest', label: 'console' },
  { value: 'cli', label: 'command line' },
]

/** The filters of every list of resources, and those of one kind. */
export function ListFilters({
  filters,
  filter,
  children,
}: {
  readonly filters: { readonly q: string; readonly owner: string }
  readonly filter: (change: { readonly q?: string; readonly owner?: string }) => void
  readonly children?: ReactNode
}) {
  return (
    <search className="filters">
      <TextFilter label="Name" value={filters.q} onChange={q => filter({ q })} placeholder="a part of it" />
      {children}
      <ChoiceField
        label="Owner"
        value={filters.owner}
        options={OWNERS}
        onChange={owner => filter({ owner })}
      />
    </search>
  )
}
