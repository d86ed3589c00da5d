/** Parses and formats durations and sizes. Values are integers: milliseconds and bytes. */

const MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const BYTES = {
  B: 1,
  KiB: 1_024,
  MiB: 1_048_576,
  GiB: 1_073_741_824,
  kB: 1_000,
  KB: 1_000,
  MB: 1e6,
  GB: 1e9,
} as const
const DURATION = /^(?:\d+(?:ms|s|m|h|d))+$/
const DURATION_PART = /(\d+)(ms|s|m|h|d)/g
const SIZE = /^(\d+)\s?(B|KiB|MiB|GiB|kB|KB|MB|GB)$/

/** `"1m30s"` → `90_000`; `undefined` if the text is not a duration. */
export function parseDurationMs(text: string): number | undefined {
  if (!DURATION.test(text)) return undefined
  let totalMs = 0
  for (const [, count = '', unit = ''] of text.matchAll(DURATION_PART)) {
    totalMs += Number(count) * MS[unit as keyof typeof MS]
  }
  return Number.isSafeInteger(totalMs) ? totalMs : undefined
}

/** `90_000` → `"90s"`: one number in the largest unit that divides it, so that equal durations have one form. */
export function formatDurationMs(ms: number): string {
  for (const unit of ['d', 'h', 'm', 's'] as const) {
    if (ms !== 0 && ms % MS[unit] === 0) return `${ms / MS[unit]}${unit}`
  }
  return `${ms}ms`
}

/** `"32MiB"` → `33_554_432`; `undefined` if the text is not a size. */
export function parseSizeBytes(text: string): number | undefined {
  const match = SIZE.exec(text)
  if (!match) return undefined
  const bytes = Number(match[1]) * BYTES[match[2] as keyof typeof BYTES]
  return Number.isSafeInteger(bytes) ? bytes : undefined
}

/** `33_554_432` → `"32MiB"`: one number in the largest binary unit that divides it. */
export function formatSizeBytes(bytes: number): string {
  for (const unit of ['GiB', 'MiB', 'KiB'] as const) {
    if (bytes !== 0 && bytes % BYTES[unit] === 0) return `${bytes / BYTES[unit]}${unit}`
  }
  return `${bytes}B`
}
