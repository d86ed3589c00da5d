import { z } from 'zod'

/** `read` asks and changes nothing; `write` does whatever its user may do by REST. */
export const TOKEN_SCOPES = ['read', 'write'] as const
export type TokenScope = (typeof TOKEN_SCOPES)[number]

const DAY_MS = 86_400_000
export const DEFAULT_TOKEN_MS = 90 * DAY_MS
export const LONGEST_TOKEN_MS = 366 * DAY_MS

export const tokenName = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9 ._@:/-]{0,63}$/,
    'letters, digits, spaces and . _ @ : / - only, at most 64 characters',
  )
