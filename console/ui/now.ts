import { useEffect, useState } from 'react'

const TICK_MS = 5_000

/**
 * The time, for texts such as "2 min ago".
 *
 * @param stepMs It is rounded down to a multiple of this: for queries that are to stay the same for a while.
 */
export function useNow(stepMs = 1): number {
  const [now, setNow] = useState(() => startOf(stepMs))
  useEffect(() => {
    const timer = setInterval(() => setNow(startOf(stepMs)), TICK_MS)
    return () => clearInterval(timer)
  }, [stepMs])
  return now
}

function startOf(stepMs: number): number {
  return Math.floor(Date.now() / stepMs) * stepMs
}
