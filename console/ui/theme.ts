import { useState } from 'react'

const NAME = 'gw-theme'
const THEMES = ['system', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

/** The theme in the storage of this browser; `system` follows the operating system. */
export function storedTheme(): Theme {
  const stored = localStorage.getItem(NAME)
  return THEMES.find(theme => theme === stored) ?? 'system'
}

export function showTheme(theme: Theme): void {
  document.documentElement.dataset['theme'] = theme
}

export function useTheme(): readonly [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState(storedTheme)
  return [
    theme,
    chosen => {
      localStorage.setItem(NAME, chosen)
      showTheme(chosen)
      setTheme(chosen)
    },
  ]
}
