import { z } from 'zod'
import { countLimit, limitMode, limits } from './limits.ts'
import { modelPattern, money, name, secretReference, text, timestamp, timeZone } from './scalars.ts'

const budget = z
  .strictObject({
    amount: money.describe('In units of the currency.'),
    per: z.enum(['day', 'month', 'total']).describe('The window after which the budget resets.'),
    timezone: timeZone.default('UTC').describe('The time zone of days and months.'),
    mode: limitMode,
  })
  .describe('Money that the key may spend: spent plus reserved money never exceeds it.')

/** The policy of an API key. Its secret is stored elsewhere: `gw keys issue NAME` mints one. */
export const key = z
  .strictObject({
    kind: z.enum(['platform', 'tenant']).describe('`platform`: no tenant, for administrators’ tests.'),
    display_name: text.optional().describe('A display name.'),
    tenant: name.optional().describe('The tenant of the key.'),
    models: z
      .array(modelPattern)
      .default(['*'])
      .describe('Model names or globs. Default: all models of the tenant.'),
    limits: limits.default({}).describe('Limits of this key alone.'),
    quota: countLimit('tokens', 'Total tokens.')
      .optional()
      .describe('Total tokens over the lifetime of the key. Also with `{ tokens, mode }`.'),
    budget: budget.optional(),
    expires_at: timestamp.optional().describe('RFC 3339; from then on the key answers 401.'),
    enabled: z.boolean().default(true).describe('Whether it may be used; false answers 401.'),
    hash: z
      .string()
      .regex(
        /^sha256:[0-9a-f]{64}$/,
        '`sha256:` and 64 hexadecimal digits, of a secret of 20 characters or more',
      )
      .optional()
      .describe('The SHA-256 of your own secret, `sha256:…`.'),
    secret: secretReference.optional().describe('A reference to your own secret, of 20 characters or more.'),
  })
  .superRefine((value, ctx) => {
    if (value.kind === 'tenant' && value.tenant === undefined) {
      ctx.addIssue({
        code: 'custom',
        path: ['tenant'],
        message: 'a key of kind `tenant` names its tenant',
        params: { fault: 'missing_field' },
      })
    }
    if (value.kind === 'platform' && value.tenant !== undefined) {
      ctx.addIssue({
        code: 'custom',
        path: ['tenant'],
        message: 'a key of kind `platform` has no tenant',
        params: { fault: 'fields_conflict' },
      })
    }
    if (value.hash !== undefined && value.secret !== undefined) {
      ctx.addIssue({
        code: 'custom',
        path: ['secret'],
        message: 'either `hash` or `secret`, not both',
        params: { fault: 'fields_conflict' },
      })
    }
  })
  .describe('The policy of an API key.')

export type Key = z.output<typeof key>
