import { z } from 'zod'

/** Options of the settings and of a single publication. */

export const onDisconnect = z.enum(['abort', 'drain'])
export const onUpstreamError = z.enum(['charge', 'free'])
export const outputCap = z.enum(['none', 'max_tokens', 'max_completion_tokens'])
