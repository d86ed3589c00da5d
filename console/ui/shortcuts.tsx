import { useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { Dialog } from './dialog.tsx'
import type { NavigationGroup } from './navigation.ts'
import { moveRow } from './row-focus.tsx'

/** How long after `g` the letter of a page counts. */
const SEQUENCE_MS = 1_500

/**
 * The keys of the console. Each is a letter without Ctrl, and none counts while a text is typed.
 */
export function Shortcuts({
  groups,
  onSearch,
}: {
  readonly groups: readonly NavigationGroup[]
  readonly onSearch: () => void
}) {
  const navigate = useNavigate()
  const [isOpen, setOpen] = useState(false)
  const pages = groups.flatMap(({ entries }) => entries).filter(({ letter }) => letter !== undefined)
  useEffect(() => {
    let goAt = Number.NEGATIVE_INFINITY
    const press = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey)) {
        event.preventDefault()
        // To leave a dialog for another page would lose what is entered or shown in it.
        if (!isInDialog()) onSearch()
        return
      }
      if (isInDialog() || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
      const isSecond = event.timeStamp - goAt < SEQUENCE_MS
      goAt = Number.NEGATIVE_INFINITY
      const page = isSecond ? pages.find(({ letter }) => letter === event.key) : undefined
      if (page) void navigate({ to: page.to })
      else if (event.key === 'g') goAt = event.timeStamp
      else if (event.key === 'j') moveRow(1)
      else if (event.key === 'k') moveRow(-1)
      else if (event.key === '?') setOpen(true)
      else if (event.key === '/') focusFilter(onSearch)
      else return
      event.preventDefault()
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  })
  return (
    <Dialog title="Keys" isOpen={isOpen} onClose={() => setOpen(false)}>
      <dl className="keys">
        {[
          ['Ctrl K', 'go to a page or a resource'],
          ['/', 'filter the list of the page'],
          ['j', 'next row'],
          ['k', 'previous row'],
          ['Enter', 'open the row'],
          ...pages.map(({ letter, label }) => [`g ${letter}`, label]),
          ['?', 'this list'],
        ].map(([keys, what]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}

function focusFilter(otherwise: () => void): void {
  const filter = document.querySelector<HTMLInputElement>('main input[type="search"]')
  if (!filter) return otherwise()
  filter.focus()
  filter.select()
}

function isInDialog(): boolean {
  return document.querySelector('[role="dialog"]') !== null
}

/** Whether keys are text, or belong to a menu. */
function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof Element)) return false
  return target.closest('input, textarea, select, [role="menu"]') !== null
}
