import { z } from 'zod'
import { count } from './scalars.ts'

const BOUND = 'any window of t seconds admits at most burst + limit × t / 60'

/**
 * `shadow`: the limit counts what it would reject, and rejects nothing. The default is not written, so that a limit has
 * one canonical form. The prepaid balance has no such mode: what is not paid cannot be spent.
 */
export const limitMode = z
  .codec(z.enum(['enforce', 'shadow']), z.literal('shadow').optional(), {
    decode: mode => (mode === 'shadow' ? mode : undefined),
    encode: mode => mode ?? 'enforce',
  })
  .optional()
  .describe('`shadow`: counts what the limit would reject, and rejects nothing. Default: `enforce`.')

/** A limit that is one number, in a file: the number alone, or with a mode. */
export function countLimit<Field extends string>(field: Field, description: string) {
  const members = { [field]: count.describe(description), mode: limitMode } as Record<Field, typeof count> & {
    mode: typeof limitMode
  }
  return z.union([count, z.strictObject(members)])
}

function rate(unit: string) {
  return z.union([
    count,
    z.strictObject({
      limit: count.describe(`${unit} per minute, refilled evenly.`),
      burst: count.optional().describe(`${unit} in a burst: ${BOUND}. Default: the limit.`),
      mode: limitMode,
    }),
  ])
}

/** Rate limits of a key or of a tenant. An absent limit is no limit. */
export const limits = z.strictObject({
  rpm: rate('Requests')
    .optional()
    .describe(`Requests per minute; \`{ limit: 60, burst: 6 }\` limits bursts: ${BOUND}.`),
  tpm: rate('Tokens').optional().describe('Tokens per minute; also with `{ limit, burst, mode }`.'),
  concurrency: countLimit('limit', 'Requests at a time.')
    .optional()
    .describe('Concurrent requests; each counts until its last byte. Also with `{ limit, mode }`.'),
})

/** The mode of a limit, as it is decoded. */
export interface Moded {
  readonly mode?: 'shadow' | undefined
}

/** A rate in a file: the limit alone, or with a burst or a mode. */
export type WrittenRate = number | ({ readonly limit: number; readonly burst?: number | undefined } & Moded)
/** A concurrency limit in a file. */
export type WrittenConcurrency = number | ({ readonly limit: number } & Moded)
/** A token quota in a file. */
export type WrittenQuota = number | ({ readonly tokens: number } & Moded)

export interface Rate {
  /** Per minute. */
  readonly limit: number
  /** The burst. */
  readonly burst: number
}

export function rateOf(written: WrittenRate): Rate {
  if (typeof written === 'number') return { limit: written, burst: written }
  return { limit: written.limit, burst: written.burst ?? written.limit }
}

export function concurrencyOf(written: WrittenConcurrency): number {
  return typeof written === 'number' ? written : written.limit
}

export function quotaOf(written: WrittenQuota): number {
  return typeof written === 'number' ? written : written.tokens
}

/** Whether a limit of a file counts only. */
export function isShadow(written: number | Moded | undefined): boolean {
  return typeof written === 'object' && written.mode === 'shadow'
}

/** `60`, or `60 (burst 6)` if the burst differs from the limit. */
export function rateText(written: WrittenRate): string {
  const { limit, burst } = rateOf(written)
  return burst === limit ? String(limit) : `${limit} (burst ${burst})`
}
