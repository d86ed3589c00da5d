import { InvalidArgumentError } from 'commander'
import { CommandError } from '../base/catalogue/command.ts'
import { iso } from '../base/iso.ts'
import { parseDurationMs } from '../base/units.ts'
import { Calendar } from '../limits/calendar.ts'
import { timestamp, timeZone } from '../schema/scalars.ts'

const DATE = /^\d{4}-\d{2}-\d{2}$/

const MONTH = /^\d{4}-\d{2}$/

/** The reference for relative times and days. */
export interface Now {
  readonly nowMs: number
  /** Defines the start of days, such as `Europe/Berlin`. */
  readonly timezone: string
}

/**
 * Parses a month that has begun, such as `2026-09`, to its start in UTC, in milliseconds since the epoch.
 * @throws {CommandError} usage
 */
export function parseMonth(flag: string, text: string, nowMs: number): number {
  const startMs = MONTH.test(text) ? Date.parse(`${text}-01`) : Number.NaN
  if (Number.isNaN(startMs))
    throw new CommandError('usage', `\`${flag} ${text}\` is not a month.`, { hint: 'Write it as 2026-09.' })
  if (startMs <= nowMs) return startMs
  throw new CommandError('usage', `\`${flag} ${text}\` is in the future.`, {
    hint: `The current month in UTC is ${iso(nowMs).slice(0, 7)}.`,
  })
}

/**
 * Parses a time to milliseconds since the epoch: `30d` (before or after now), `2026-11-01` (the start of that day) or
 * `2026-11-01T08:00:00Z`.
 *
 * @param flag for the error message.
 * @throws {CommandError} usage
 */
export function parseTime(
  flag: string,
  text: string,
  direction: 'ago' | 'ahead',
  { nowMs, timezone }: Now,
): number {
  const spanMs = parseDurationMs(text)
  if (spanMs !== undefined) return direction === 'ago' ? Math.max(0, nowMs - spanMs) : nowMs + spanMs
  const dateMs = DATE.test(text) ? Date.parse(text) : Number.NaN
  // `Date.parse` reads 30 February as 2 March.
  if (!Number.isNaN(dateMs) && isoDate(dateMs) === text) return dayStart(dateMs, timezone)
  const exact = timestamp.safeDecode(text)
  if (exact.success) return exact.data
  throw new CommandError('usage', `\`${flag} ${text}\` is not a time.`, {
    hint: 'Write a duration such as 30d, a day such as 2026-11-01, or a time such as 2026-11-01T08:00:00Z.',
  })
}

/** The start of the day that contains `ms`. */
export function startOfDay(ms: number, timezone: string): number {
  return new Calendar().span('day', timezone, ms).startMs
}

/** The argument of a flag such as `--unused 30d`. */
export function durationArgument(text: string): number {
  const ms = parseDurationMs(text)
  if (ms === undefined) throw new InvalidArgumentError('Write a duration such as 30m, 24h or 30d.')
  return ms
}

/** The argument of `--timezone`. */
export function timezoneArgument(text: string): string {
  if (timeZone.safeParse(text).success) return text
  throw new InvalidArgumentError('Write an IANA time zone such as UTC or Europe/Berlin.')
}

/** @param dateMs midnight UTC of the date: at that moment a zone has that date already, or the day before. */
function dayStart(dateMs: number, timezone: string): number {
  const around = new Calendar().span('day', timezone, dateMs)
  // `en-CA` writes dates as ISO 8601 does.
  const local = new Intl.DateTimeFormat('en-CA', {
    timeZone: timezone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  })
  return local.format(dateMs) === isoDate(dateMs) ? around.startMs : around.endMs
}

function isoDate(ms: number): string {
  return iso(ms).slice(0, 10)
}
