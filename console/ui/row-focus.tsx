import { useRouter } from '@tanstack/react-router'
import { createContext, useCallback, useContext, useEffect, useState } from 'react'

/** Remembers the row of each page that had the focus last, for the return to the page by "back". */
class RowMemory {
  readonly #byPath = new Map<string, string>()
  #isBack = false

  /** A page was opened. @param action of the history. */
  moved(action: string): void {
    this.#isBack = action === 'BACK' || action === 'FORWARD' || action === 'GO'
  }

  remember(target: EventTarget | null): void {
    const row = target instanceof Element && target.closest<HTMLElement>('[data-row]')
    if (row) this.#byPath.set(location.pathname, row.dataset['row'] ?? '')
  }

  /** Gives the focus back to the row in a table, once. */
  restore(table: HTMLTableElement): void {
    const row = this.#isBack ? this.#byPath.get(location.pathname) : undefined
    if (row === undefined) return
    const link = focusableIn(table.querySelector(`[data-row="${CSS.escape(row)}"]`))
    if (!link) return
    this.#isBack = false
    link.focus()
  }
}

const RowsContext = createContext<RowMemory | undefined>(undefined)
export const RowFocusProvider = RowsContext.Provider

/** The rows of all pages that have the focus. */
export function useRowMemory(): RowMemory {
  const [memory] = useState(() => new RowMemory())
  const { history } = useRouter()
  useEffect(
    () =>
      history.subscribe(({ action: { type } }: { readonly action: { readonly type: string } }) =>
        memory.moved(type),
      ),
    [history, memory],
  )
  useEffect(() => {
    const remember = ({ target }: FocusEvent) => memory.remember(target)
    addEventListener('focusin', remember)
    return () => removeEventListener('focusin', remember)
  }, [memory])
  return memory
}

/** For a table: by "back" the focus returns to the row that it left. */
export function useReturnToRow(): (table: HTMLTableElement | null) => void {
  const memory = useContext(RowsContext)
  return useCallback(
    table => {
      if (table) memory?.restore(table)
    },
    [memory],
  )
}

/** Moves the focus to the next or previous row of the table that has it, or of the first one. */
export function moveRow(step: 1 | -1): void {
  const present = document.activeElement?.closest<HTMLElement>('[data-row]')
  const table = present?.closest('table') ?? document.querySelector('main table')
  const rows = [...(table?.querySelectorAll('[data-row]') ?? [])]
  const at = present ? rows.indexOf(present) + step : 0
  focusableIn(rows[at] ?? null)?.focus()
}

function focusableIn(row: Element | null): HTMLElement | null {
  return row?.querySelector<HTMLElement>('a, button') ?? null
}
