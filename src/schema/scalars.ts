import { z } from 'zod'
import { type DecimalFault, formatNano, parseNano } from '../base/decimal.ts'
import { formatDurationMs, formatSizeBytes, parseDurationMs, parseSizeBytes } from '../base/units.ts'

/**
 * The scalars of a configuration. Each is a codec: decoding gives the integer for the gateway, encoding gives the
 * canonical text for the store, plans and exports.
 */

const NAME = /^[A-Za-z0-9][A-Za-z0-9._@:/-]{0,127}$/
const MODEL_NAME = /^[^\s\p{C}]{1,256}$/u

/** A name of an endpoint, tenant or key: safe in a header, a log line and a metric label. */
export const name = z
  .string()
  .regex(
    NAME,
    'letters, digits and . _ @ : / - only, starting with a letter or digit, at most 128 characters',
  )

/**
 * A public model name, as clients send it. Excluded: dots, which every client removes from a path, and `__proto__`,
 * which breaks many programs.
 */
export const modelName = z
  .string()
  .regex(
    /^(?!(?:__proto__|\.{1,2})$)[^\s\p{C}]{1,256}$/u,
    'printable characters without spaces, 1 to 256 of them, such as openai/gpt-4o:latest, but not __proto__, . or ..',
  )

/** A model name, or a glob over model names: `*` matches any characters (also `/`), `?` matches one. */
export const modelPattern = z
  .string()
  .regex(MODEL_NAME, 'a model name or a glob, such as gpt-4o or openai/*, without spaces')

export const text = z.string().max(1024, 'at most 1024 characters')

/** `30s`, `5m`, `1h30m` ⇄ milliseconds. */
export function duration(range: { minMs?: number; maxMs?: number } = {}) {
  const { minMs = 1, maxMs = 366 * 86_400_000 } = range
  return z.codec(
    z.string().meta({ pattern: '^(\\d+(ms|s|m|h|d))+$', examples: ['30s', '5m', '1h30m'] }),
    z.int(),
    {
      decode(value, ctx) {
        const ms = parseDurationMs(value)
        if (ms !== undefined && ms >= minMs && ms <= maxMs) return ms
        const message =
          ms === undefined
            ? 'a duration such as 30s, 5m or 1h30m'
            : `a duration from ${formatDurationMs(minMs)} to ${formatDurationMs(maxMs)}`
        ctx.issues.push({ code: 'custom', input: value, message })
        return z.NEVER
      },
      encode: formatDurationMs,
    },
  )
}

/** `32MiB`, `500KB` ⇄ bytes. */
export function size(range: { minBytes: number; maxBytes: number }) {
  return z.codec(
    z.string().meta({ pattern: '^\\d+ ?(B|KiB|MiB|GiB|kB|KB|MB|GB)$', examples: ['32MiB', '500KB'] }),
    z.int(),
    {
      decode(value, ctx) {
        const bytes = parseSizeBytes(value)
        if (bytes !== undefined && bytes >= range.minBytes && bytes <= range.maxBytes) return bytes
        const message =
          bytes === undefined
            ? 'a size such as 32MiB'
            : `a size from ${formatSizeBytes(range.minBytes)} to ${formatSizeBytes(range.maxBytes)}`
        ctx.issues.push({ code: 'custom', input: value, message })
        return z.NEVER
      },
      encode: formatSizeBytes,
    },
  )
}

const MAX_NANO = 10n ** 21n
const DECIMAL_FAULTS: Record<DecimalFault, string> = {
  not_decimal: 'a decimal amount such as 0.15 or "12.50", not negative',
  too_precise: 'at most nine digits after the point (1e-9 is the smallest unit of money)',
  quote_it: 'too many digits for a number: quote it, such as "123456789.123456789", to keep it exact',
}

/** `"0.15"` or `0.15` ⇄ nano-units (1e-9) of the currency, exactly. */
export const money = amountOf({ maxNano: MAX_NANO })

/** An amount of money within bounds, which are also in the documented schema. */
export function amountOf({ maxNano, isPositive = false }: { maxNano: bigint; isPositive?: boolean }) {
  const pattern = `^${isPositive ? '(?=.*[1-9])' : ''}\\d+(\\.\\d{1,9}0*)?$`
  const [least, most] = [isPositive ? { exclusiveMinimum: 0 } : { minimum: 0 }, Number(maxNano / 10n ** 9n)]
  return z.codec(
    z
      .union([z.string().meta({ pattern }), z.number().meta({ ...least, maximum: most })])
      .meta({ examples: ['0.15', 12.5] }),
    z.bigint(),
    {
      decode(value, ctx) {
        const nano = parseNano(value)
        const message =
          typeof nano === 'string'
            ? DECIMAL_FAULTS[nano]
            : nano > maxNano
              ? `at most ${formatNano(maxNano)}`
              : isPositive && nano === 0n
                ? 'more than 0'
                : undefined
        if (message === undefined && typeof nano === 'bigint') return nano
        ctx.issues.push({ code: 'custom', input: value, ...(message !== undefined && { message }) })
        return z.NEVER
      },
      encode: formatNano,
    },
  )
}

/** For years of four digits, as in RFC 3339: with its zone a time may be outside of them. */
const UTC_LENGTH = '2027-01-31T00:00:00.000Z'.length

/** RFC 3339 with a zone ⇄ milliseconds since the epoch. */
export const timestamp = z.codec(
  z.string().meta({ format: 'date-time', examples: ['2027-01-31T00:00:00Z'] }),
  z.int(),
  {
    decode(value, ctx) {
      const ms = z.iso.datetime({ offset: true }).safeParse(value).success ? Date.parse(value) : Number.NaN
      if (!Number.isNaN(ms) && new Date(ms).toISOString().length === UTC_LENGTH) return ms
      ctx.issues.push({
        code: 'custom',
        input: value,
        message: 'a time with a zone, such as 2027-01-31T00:00:00Z',
      })
      return z.NEVER
    },
    encode: ms => new Date(ms).toISOString(),
  },
)

const DAY = /^\d{4}-\d{2}-\d{2}$/

/** `2026-12-01` (its midnight in UTC) or RFC 3339 with a zone ⇄ milliseconds since the epoch. */
export const dateTime = z.codec(
  z.string().meta({
    pattern: '^\\d{4}-\\d{2}-\\d{2}(T.+)?$',
    examples: ['2026-12-01', '2026-12-01T00:00:00+01:00'],
  }),
  z.int(),
  {
    decode(value, ctx) {
      const isDay = DAY.test(value)
      const ms = isDay || z.iso.datetime({ offset: true }).safeParse(value).success ? Date.parse(value) : NaN
      // `Date.parse` reads 30 February as 2 March.
      const exists = !isDay || (!Number.isNaN(ms) && new Date(ms).toISOString().startsWith(value))
      if (!Number.isNaN(ms) && exists && new Date(ms).toISOString().length === UTC_LENGTH) return ms
      ctx.issues.push({
        code: 'custom',
        input: value,
        message: 'a day such as 2026-12-01, or a time with a zone such as 2026-12-01T00:00:00Z',
      })
      return z.NEVER
    },
    encode: ms => new Date(ms).toISOString(),
  },
)

/** An IANA time zone, such as `Europe/Berlin`. */
export const timeZone = z.string().refine(isTimeZone, 'an IANA time zone such as UTC or Europe/Berlin')

/** The zones that the runtime lists; checking a zone with `Intl` costs 0.1 ms. */
const LISTED_ZONES: ReadonlySet<string> = new Set(['UTC', ...Intl.supportedValuesOf('timeZone')])

function isTimeZone(value: string): boolean {
  if (LISTED_ZONES.has(value)) return true
  try {
    return new Intl.DateTimeFormat('en', { timeZone: value }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

export const count = z.int().min(1, 'a whole number, 1 or more').max(Number.MAX_SAFE_INTEGER)

/** The source of a secret, never the secret itself: the store, plans and exports contain the reference. */
export const secretReference = z
  .strictObject({
    env: z
      .string()
      .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'the name of an environment variable')
      .optional()
      .describe('An environment variable of `gw serve` that contains the secret.'),
    file: z
      .string()
      .regex(/^\//, 'an absolute path')
      .max(4096)
      .optional()
      .describe('An absolute path of a file that contains the secret; read again after a change.'),
  })
  .refine(
    value => (value.env === undefined) !== (value.file === undefined),
    'either `env` or `file`, and only one',
  )

export type SecretReference = z.output<typeof secretReference>
