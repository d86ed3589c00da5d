import { z } from 'zod'
import { count } from './scalars.ts'

/** Rate limits of a key or of a tenant. An absent limit is no limit. */
export const limits = z.strictObject({
  rpm: count.optional().describe('Requests per minute.'),
  tpm: count.optional().describe('Tokens per minute.'),
  concurrency: count.optional().describe('Requests at a time, each to its last byte.'),
})
