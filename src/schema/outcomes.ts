import { z } from 'zod'

/** What becomes of a call that does not end as it should. For all publications, or for one. */

export const onDisconnect = z.enum(['abort', 'drain'])
export const onUpstreamError = z.enum(['charge', 'free'])
