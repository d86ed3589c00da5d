const STEPS = [
  [1e9, 'G'],
  [1e6, 'M'],
  [1e3, 'k'],
] as const

/** A number in at most five characters: `0`, `0.25`, `7.5`, `123`, `4.6k`, `12M`. */
export function figure(value: number): string {
  for (const [at, letter] of STEPS) {
    if (value >= at * 0.99995) return `${digits(value / at)}${letter}`
  }
  return digits(value)
}

/** A duration of milliseconds in short form: `8ms`, `340ms`, `1.2s`, `3m20s`. */
export function latencyText(ms: number | undefined): string {
  if (ms === undefined) return '-'
  if (ms < 1_000) return `${ms < 10 ? digits(ms) : Math.round(ms)}ms`
  if (ms < 60_000) return `${digits(ms / 1_000)}s`
  return `${Math.floor(ms / 60_000)}m${Math.round((ms % 60_000) / 1_000)}s`
}

/** A share in percent; a share above 0 is never shown as `0%`. */
export function shareText(share: number): string {
  if (share > 0 && share < 0.01) return '<1%'
  return `${Math.round(share * 100)}%`
}

/** A time span in its largest unit: `4s`, `12m`, `5h`, `3d`. */
export function agoText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000))
  if (seconds < 60) return `${seconds}s`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m`
  return seconds < 86_400 ? `${Math.floor(seconds / 3_600)}h` : `${Math.floor(seconds / 86_400)}d`
}

const MIB = 1_048_576

/** Bytes in MiB, with one digit after the point. */
export function mibText(bytes: number): string {
  return (bytes / MIB).toFixed(1)
}

function digits(value: number): string {
  if (value >= 9.995) return String(Math.round(value))
  return String(Math.round(value * (value >= 1 ? 10 : 100)) / (value >= 1 ? 10 : 100))
}
