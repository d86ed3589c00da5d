import { codeOf, isConnectionLost } from '../faults.ts'
import type { PostgresReport } from './messages.ts'

/** An error of a row itself, such as an amount beyond 64 bits: a bug in gw, not a failure of the server. */
export function isOfRow(error: unknown): boolean {
  return error instanceof RangeError || (!isConnectionLost(error) && /^(22|23)/.test(codeOf(error)))
}

const FIRST_PAUSE_MS = 10
const LONGEST_PAUSE_MS = 500

/** Whether the server can be written, over all lanes: reported once for each outage. */
export class Outage {
  readonly #report: (report: PostgresReport) => void
  readonly #failing = new Map<string, number>()

  constructor(report: (report: PostgresReport) => void) {
    this.#report = report
  }

  /** @returns how long the lane should wait until its next attempt. */
  fail(lane: string, error: unknown): number {
    const pauseMs = Math.min(2 * (this.#failing.get(lane) ?? FIRST_PAUSE_MS / 2), LONGEST_PAUSE_MS)
    if (this.#failing.size === 0) this.#report({ is: 'problem', message: describe(error) })
    this.#failing.set(lane, pauseMs)
    return pauseMs
  }

  succeed(lane: string): void {
    if (this.#failing.delete(lane) && this.#failing.size === 0) this.#report({ is: 'recovered' })
  }
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  // Attempts at several addresses of a host end in one error without a message.
  const reason = error instanceof AggregateError ? String(error.errors[0]) : error.message
  const code = codeOf(error)
  return code === '' ? reason : `${reason} (${code})`
}
