import { z } from 'zod'

/** `read`: no changes; `write`: everything that its user may do over REST. */
export const TOKEN_SCOPES = ['read', 'write'] as const
export type TokenScope = (typeof TOKEN_SCOPES)[number]

const DAY_MS = 86_400_000
export const DEFAULT_TOKEN_MS = 90 * DAY_MS
export const MAX_TOKEN_MS = 366 * DAY_MS

export const tokenName = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9 ._@:/-]{0,63}$/,
    'letters, digits, spaces and . _ @ : / - only, at most 64 characters',
  )
