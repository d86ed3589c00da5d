import { z } from 'zod'
import { limits } from './limits.ts'
import { modelPattern, text } from './scalars.ts'

/** The bounds of keys that the users of a tenant create themselves. */
const selfService = z
  .strictObject({
    max_keys: z.int().min(1).max(10_000).describe('How many such keys the tenant may have at a time.'),
    models: z
      .array(modelPattern)
      .default(['*'])
      .describe('Model names or globs that such a key may use. Default: all models of the tenant.'),
    limits: limits
      .default({})
      .describe(
        'The highest limits of each such key, and its limits by default. A key that is made anew begins anew: the limits of the tenant hold for all of them together.',
      ),
  })
  .describe(
    'Lets the users of the tenant create keys in the console; their names start with that of the tenant and a slash. Default: they create none.',
  )

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
    self_service: selfService.optional(),
  })
  .describe('A customer or a team.')

export type Tenant = z.output<typeof tenant>
