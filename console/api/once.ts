import { useRef } from 'react'

/**
 * Runs an action once at a time: a second click may come before the button is drawn as disabled. Then both get the result of
 * the first.
 */
export function useOnce<Result>(act: () => Promise<Result>): () => Promise<Result> {
  const running = useRef<Promise<Result>>(undefined)
  return () => {
    running.current ??= act().finally(() => {
      running.current = undefined
    })
    return running.current
  }
}
