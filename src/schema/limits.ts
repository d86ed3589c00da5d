import { z } from 'zod'
import { count } from './scalars.ts'

const BOUND = 'any window of t seconds admits at most burst + limit × t / 60'

function rate(unit: string) {
  return z.union([
    count,
    z.strictObject({
      limit: count.describe(`${unit} per minute, refilled evenly.`),
      burst: count.optional().describe(`${unit} in a burst: ${BOUND}. Default: the limit.`),
    }),
  ])
}

/** Rate limits of a key or of a tenant. An absent limit is no limit. */
export const limits = z.strictObject({
  rpm: rate('Requests')
    .optional()
    .describe(`Requests per minute; \`{ limit: 60, burst: 6 }\` limits bursts: ${BOUND}.`),
  tpm: rate('Tokens').optional().describe('Tokens per minute; also with `{ limit, burst }`.'),
  concurrency: count.optional().describe('Concurrent requests; each counts until its last byte.'),
})

/** A rate in a file: the limit alone, or with a burst. */
export type WrittenRate = number | { readonly limit: number; readonly burst?: number | undefined }

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

/** `60`, or `60 (burst 6)` if the burst differs from the limit. */
export function rateText(written: WrittenRate): string {
  const { limit, burst } = rateOf(written)
  return burst === limit ? String(limit) : `${limit} (burst ${burst})`
}
