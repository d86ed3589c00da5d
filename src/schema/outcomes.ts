import { z } from 'zod'

/** What may be set for all publications, or for one. */

export const onDisconnect = z.enum(['abort', 'drain'])
export const onUpstreamError = z.enum(['charge', 'free'])
export const outputCap = z.enum(['none', 'max_tokens', 'max_completion_tokens'])
