import { useState } from 'react'

const NAME = 'gw-theme'
const THEMES = ['system', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

/** The theme that this browser keeps; `system` follows the operating system. */
export function keptTheme(): Theme {
  const kept = localStorage.getItem(NAME)
  return THEMES.find(theme => theme === kept) ?? 'system'
}

export function showTheme(theme: Theme): void {
  document.documentElement.dataset['theme'] = theme
}

export function useTheme(): readonly [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState(keptTheme)
  return [
    theme,
    chosen => {
      localStorage.setItem(NAME, chosen)
      showTheme(chosen)
      setTheme(chosen)
    },
  ]
}
