import { createContext, useContext } from 'react'
import type { Api, Shapes } from './client.ts'
import type { Queries } from './queries.ts'

/** The API and its queries, for every page. */
export interface ConsoleContext {
  readonly api: Api
  readonly queries: Queries
}

export const ConsoleContextProvider = createContext<ConsoleContext | undefined>(undefined)

export function useConsole(): ConsoleContext {
  const context = useContext(ConsoleContextProvider)
  if (!context) throw new Error('there is no console around this component')
  return context
}

export const SessionProvider = createContext<Shapes['session'] | undefined>(undefined)

/** The session of a page behind the log-in. */
export function useSession(): Shapes['session'] & {
  /** Whether the session may call an operation. The server checks it again. */
  readonly can: (operation: string) => boolean
} {
  const session = useContext(SessionProvider)
  if (!session) throw new Error('there is no session around this component')
  return { ...session, can: operation => session.may.includes(operation) }
}
