import type { Outcome } from '../metering/request-log.ts'

/** How a request ended. */
export interface Delivered {
  readonly outcome: Outcome
  /** Why it was rejected, failed, or broke off. */
  readonly error?: unknown
}

/** The client has left; nobody is there to be answered. */
export const CLIENT_GONE: Delivered = { outcome: 'client_gone' }

/** Why an exchange was aborted: its client has left. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone'
}
