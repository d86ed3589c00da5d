import type { Outcome } from '../metering/request-log.ts'

/** How a request ended. */
export interface Delivered {
  readonly outcome: Outcome
  /** The cause if the request was rejected, failed, or broke off. */
  readonly error?: unknown
}

/** The client disconnected before the end of the answer. */
export const CLIENT_GONE: Delivered = { outcome: 'client_gone' }

/** Abort reason of an exchange whose client disconnected. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone'
}
