import { z } from 'zod'
import { name } from './scalars.ts'

/** `admin` does everything; `tenant` is bound to one tenant, and sees and does only what belongs to it. */
export const ROLES = ['admin', 'tenant'] as const
export type Role = (typeof ROLES)[number]

/** How requests carry a session: each is accepted only in its own form. */
export const CARRIERS = ['bearer', 'cookie'] as const
export type Carrier = (typeof CARRIERS)[number]

/** The name of a user. Only one spelling, so that two users never look alike in the audit log. */
export const userName = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9._@-]{0,63}$/,
    'lower-case letters, digits and . _ @ - only, starting with a letter or digit, at most 64 characters',
  )

/** Long enough to resist guessing, short enough that hashing cannot be abused for load. */
export const password = z
  .string()
  .min(8, 'at least 8 characters')
  .max(256, 'at most 256 characters')
  .meta({ format: 'password' })

/** The role of a user, and its tenant. */
export const userPlace = z
  .strictObject({
    role: z.enum(ROLES).describe('`admin`: everything · `tenant`: what belongs to its tenant.'),
    tenant: name.optional().describe('The one tenant of the role `tenant`; absent for `admin`.'),
  })
  .superRefine(checkPlace)

/** Adds an issue if role and tenant do not fit together. */
function checkPlace(
  { role, tenant }: { readonly role: Role; readonly tenant?: string | undefined },
  ctx: z.RefinementCtx,
): void {
  if (role === 'tenant' && tenant === undefined)
    ctx.addIssue({ code: 'custom', path: ['tenant'], message: 'the role `tenant` names its tenant' })
  if (role === 'admin' && tenant !== undefined)
    ctx.addIssue({ code: 'custom', path: ['tenant'], message: 'the role `admin` has no tenant' })
}
