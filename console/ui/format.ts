const COUNT = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })
const COMPACT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })
const PERCENT = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 1 })
const DAY = new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric', year: 'numeric' })
const TIME = new Intl.DateTimeFormat('en', {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
})

const HOUR = new Intl.DateTimeFormat('en', {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
})

const MINUTE_S = 60
const HOUR_S = 3_600
const DAY_S = 86_400

/** What a value is that the control plane did not say. */
export const NONE = '–'

/** A number with thousands separators. */
export function count(value: number): string {
  return COUNT.format(value)
}

/** `1 key`, `2 keys` */
export function pluralized(number: number, noun: string): string {
  return `${count(number)} ${noun}${number === 1 ? '' : 's'}`
}

/** `128,000 tokens`; nothing without a number. */
export function tokens(number: number | undefined): string | undefined {
  return number === undefined ? undefined : pluralized(number, 'token')
}

/** What the filter of a key or a tenant allows. */
export function modelsText(models: readonly string[]): string {
  return models.includes('*') ? 'all' : models.join(', ')
}

const ORIGINS: Readonly<Record<string, string>> = { apply: 'files', rest: 'console', cli: 'command line' }

/** Where a change came from, in the words of owners. */
export function originText(origin: string): string {
  return ORIGINS[origin] ?? origin
}

/** Who made a change, without the address of a commit's author: `Ada <ada@example.com>` is `Ada`. */
export function authorText(author: string | undefined, origin: string): string {
  return author?.replace(/(.) <[^<>]*>$/, '$1') ?? originText(origin)
}

/** A number in at most some characters: 1.2M. */
export function compact(value: number): string {
  return COMPACT.format(value)
}

export function percent(share: number): string {
  return PERCENT.format(share)
}

/** A decimal with its currency. It is text: money is never a number here. */
export function money(amount: string, currency = ''): string {
  const [whole = '0', fraction = ''] = amount.split('.')
  const sign = whole.startsWith('-') ? '−' : ''
  const grouped = whole.replace('-', '').replace(/\B(?=(\d{3})+$)/g, ',')
  const cents = fraction.length < 2 ? fraction.padEnd(2, '0') : fraction
  return `${sign}${grouped}.${cents}${currency && ` ${currency}`}`
}

/** For amounts of one column: all with as many decimals as the longest. */
export function moneyColumn(amounts: readonly string[]): (amount: string) => string {
  const digits = mostDecimals(amounts)
  return amount => {
    const [whole = '0', fraction = ''] = amount.split('.')
    return money(`${whole}.${fraction.padEnd(digits, '0')}`)
  }
}

/** For a glance: cents, or that it is less. */
export function roundedMoney(amount: string, currency: string): string {
  const value = Number(amount)
  const isTiny = value > 0 && value < 0.01
  return isTiny ? `< 0.01 ${currency}` : money(value.toFixed(2), currency)
}

export function day(time: string): string {
  return DAY.format(new Date(time))
}

/** When an hour of UTC begins, in the time zone of the browser. In some zones that is at half past. */
export function hour(time: string): string {
  return HOUR.format(new Date(time))
}

/** In the time zone of the browser, to the second. */
export function clockTime(time: string): string {
  return TIME.format(new Date(time))
}

const QUARTER_MS = 900_000

/** @param quarter the quarter of an hour of the last call. */
export function lastUse(quarter: string, nowMs: number): string {
  return nowMs - Date.parse(quarter) < QUARTER_MS ? 'in the last 15 min' : ago(quarter, nowMs)
}

/** The exact sum of decimals. */
export function sumOf(amounts: readonly string[]): string {
  const digits = mostDecimals(amounts)
  const units = amounts.reduce((sum, amount) => {
    const [whole = '', fraction = ''] = amount.split('.')
    return sum + BigInt(whole + fraction.padEnd(digits, '0'))
  }, 0n)
  const text = String(units < 0n ? -units : units).padStart(digits + 1, '0')
  const [whole, fraction] = [text.slice(0, text.length - digits), text.slice(text.length - digits)]
  return `${units < 0n ? '-' : ''}${whole}${digits === 0 ? '' : `.${fraction}`}`
}

function mostDecimals(amounts: readonly string[]): number {
  return amounts.reduce((most, amount) => Math.max(most, amount.split('.')[1]?.length ?? 0), 0)
}

/** How long ago, or how soon, in its largest unit. */
export function ago(time: string, nowMs: number): string {
  const seconds = Math.round((nowMs - Date.parse(time)) / 1_000)
  const text = span(Math.abs(seconds))
  if (Math.abs(seconds) < 5) return 'now'
  return seconds < 0 ? `in ${text}` : `${text} ago`
}

export function milliseconds(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return NONE
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`
}

function span(seconds: number): string {
  if (seconds < MINUTE_S) return `${seconds} s`
  if (seconds < HOUR_S) return `${Math.floor(seconds / MINUTE_S)} min`
  if (seconds < 2 * DAY_S) return `${Math.floor(seconds / HOUR_S)} h`
  return `${Math.floor(seconds / DAY_S)} days`
}
