import { z } from 'zod'
import { limits } from './limits.ts'
import { modelPattern, text } from './scalars.ts'

/** A customer or a team: the common rules of its keys. */
export const tenant = z
  .strictObject({
    display_name: text.optional().describe('A display name.'),
    status: z
      .enum(['active', 'disabled', 'banned'])
      .default('active')
      .describe('Any status but `active` answers 403.'),
    models: z
      .array(modelPattern)
      .default(['*'])
      .describe('Model names or globs that its keys may use. Default: all.'),
    banned_models: z
      .array(modelPattern)
      .default([])
      .describe('Model names or globs that its keys may never use.'),
    limits: limits.default({}).describe('Limits over all keys of the tenant together.'),
    billing: z
      .enum(['postpaid', 'prepaid'])
      .default('postpaid')
      .describe('`prepaid`: the wallet must cover each call, else 402.'),
  })
  .describe('A customer or a team.')

export type Tenant = z.output<typeof tenant>
