import type { Budget } from '../snapshot/types.ts'

/** A budget window in milliseconds since the epoch; the end is exclusive. */
export interface Span {
  readonly startMs: number
  readonly endMs: number
}

/** Zones differ by quarters of an hour, and usage is summed by them. */
export const QUARTER_MS = 900_000
const DAY_MS = 86_400_000
/** Limit of a time zone's offset from UTC, in either direction. */
const MAX_OFFSET_MS = 16 * 3_600_000
const ALWAYS: Span = { startMs: 0, endMs: Number.POSITIVE_INFINITY }

/**
 * Days and months in the local time of a zone. A day begins at the first quarter of an hour with its date, also if
 * daylight saving skips or repeats midnight. All zones have begun their days on quarters of an hour since 1972; the sums
 * of the ledger have the same resolution.
 */
export class Calendar {
  /** One entry for each zone in use; about 600 exist. */
  readonly #formats = new Map<string, Intl.DateTimeFormat>()
  readonly #spans = new Map<string, Span>()

  /** The window around `nowMs`. */
  span(per: Budget['per'], timezone: string, nowMs: number): Span {
    if (per === 'total') return ALWAYS
    const name = `${per} ${timezone}`
    const known = this.#spans.get(name)
    if (known && known.startMs <= nowMs && nowMs < known.endMs) return known
    const date = new Date(this.#dateAt(nowMs, timezone))
    const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()]
    const [first, next] =
      per === 'day'
        ? [date.getTime(), date.getTime() + DAY_MS]
        : [Date.UTC(year, month, 1), Date.UTC(year, month + 1, 1)]
    const span = { startMs: this.#startOf(first, timezone), endMs: this.#startOf(next, timezone) }
    this.#spans.set(name, span)
    return span
  }

  /** The first quarter of an hour whose local date is `dateMs` (midnight UTC of that date) or later. */
  #startOf(dateMs: number, timezone: string): number {
    let before = (dateMs - MAX_OFFSET_MS) / QUARTER_MS
    let within = (dateMs + MAX_OFFSET_MS) / QUARTER_MS
    while (within - before > 1) {
      const middle = Math.floor((before + within) / 2)
      if (this.#dateAt(middle * QUARTER_MS, timezone) >= dateMs) within = middle
      else before = middle
    }
    return within * QUARTER_MS
  }

  /** The local date at a time, as midnight UTC of the same date. */
  #dateAt(ms: number, timezone: string): number {
    let format = this.#formats.get(timezone)
    if (!format) {
      format = new Intl.DateTimeFormat('en-u-ca-gregory-nu-latn', {
        timeZone: timezone,
        year: 'numeric',
        month: 'numeric',
        day: 'numeric',
      })
      this.#formats.set(timezone, format)
    }
    let [year, month, day] = [0, 0, 0]
    for (const { type, value } of format.formatToParts(ms)) {
      if (type === 'year') year = Number(value)
      else if (type === 'month') month = Number(value)
      else if (type === 'day') day = Number(value)
    }
    return Date.UTC(year, month - 1, day)
  }
}
