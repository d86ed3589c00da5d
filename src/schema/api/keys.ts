import { z } from 'zod'
import { key } from '../key.ts'
import { duration, name } from '../scalars.ts'
import { patchOf, shownShape } from './reshape.ts'
import { amount, byName, ownershipFields, pageOf, resourceQuery, revised, time } from './shapes.ts'
import type { Operation } from './types.ts'

// References to files or variables of this machine are only for configuration files, which its operators review.
const { secret: _secret, ...policy } = key.shape
const { hash: _hash, ...shownPolicy } = policy

const keyState = z.enum(['active', 'disabled', 'suspended', 'expired', 'no_secret'])

const shown = z
  .strictObject({
    name,
    ...shownShape(shownPolicy),
    state: keyState.describe(
      'Whether the key works, and why not. `suspended`: manually, regardless of its policy.',
    ),
    suspended_at: time.optional(),
    last_used_at: time
      .optional()
      .describe('The quarter of an hour of its last call, if it is within 30 days.'),
    secret: z
      .strictObject({
        source: z.enum(['issued', 'hash', 'reference']).optional(),
        created_at: time.optional(),
        active: z.int().describe('Active issued secrets: two during the grace period of a rotation.'),
      })
      .describe('Facts about its secret; never the secret or its hash.'),
    spend: z
      .strictObject({
        tokens: z.int().describe('In the life of the key.'),
        amount: amount.describe('In the life of the key.'),
        in_budget: amount.optional().describe('In the present window of its budget.'),
        currency: z.string(),
      })
      .optional()
      .describe('The settled usage; in the answer about one key.'),
    ...ownershipFields,
  })
  .meta({ id: 'key_shown', description: 'The present state of an API key.' })

const issued = z
  .strictObject({
    key: name,
    secret: z.string().describe('Shown only once: the store keeps only its hash.'),
    grace_until: time.optional().describe('The end of the grace period of older secrets.'),
  })
  .meta({ id: 'issued_secret', description: 'A newly minted secret.' })

const switched = z
  .strictObject({
    key: name,
    state: z.enum(['enabled', 'disabled']),
    changed: z.boolean().describe('False if nothing changed.'),
  })
  .meta({ id: 'key_switched' })

export const keyOperations = {
  list_keys: {
    method: 'GET',
    path: '/keys',
    tag: 'keys',
    summary: 'List keys',
    query: resourceQuery.extend({
      tenant: name.optional().describe('Only keys of this tenant.'),
      state: keyState.optional(),
      expiring: duration().optional().describe('Only keys that expire within this time.'),
      unused: duration().optional().describe('Only keys older than this without a call within this time.'),
    }),
    answer: { status: 200, description: 'Sorted by name.', schema: pageOf(shown) },
  },
  create_key: {
    method: 'POST',
    path: '/keys',
    tag: 'keys',
    summary: 'Create a key',
    description:
      'The key has no secret yet, unless `hash` is set: issue one next. Users of a tenant create keys of their tenant within the bounds of its `self_service`; the name starts with that of the tenant and a slash.',
    body: z.strictObject({ name, ...policy }).meta({ id: 'new_key' }),
    answer: { status: 201, description: 'The key.', schema: shown, etag: true },
    errors: ['already_exists', 'forbidden', 'managed_by_config', 'not_servable', 'too_many_keys'],
  },
  get_key: {
    method: 'GET',
    path: '/keys/{name}',
    tag: 'keys',
    summary: 'Show a key',
    params: byName,
    target: 'key',
    answer: { status: 200, description: 'The key.', schema: shown, etag: true },
  },
  update_key: {
    method: 'PATCH',
    path: '/keys/{name}',
    tag: 'keys',
    summary: 'Change the policy of a key',
    params: byName,
    target: 'key',
    body: patchOf(policy).meta({ id: 'key_patch' }),
    answer: { status: 200, description: 'The key.', schema: shown, etag: true },
    errors: ['managed_by_config', 'not_servable'],
    ifMatch: 'required',
  },
  delete_key: {
    method: 'DELETE',
    path: '/keys/{name}',
    tag: 'keys',
    summary: 'Delete a key and its secrets',
    description:
      'Its usage stays in the ledger. Users of a tenant delete only keys that they could have created, unless an administrator changed or disabled them.',
    params: byName,
    target: 'key',
    answer: { status: 200, description: 'The key is deleted.', schema: revised },
    errors: ['forbidden', 'managed_by_config'],
    ifMatch: 'optional',
  },
  issue_key: {
    method: 'POST',
    path: '/keys/{name}/issue',
    tag: 'keys',
    summary: 'Mint the first secret of a key',
    params: byName,
    target: 'key',
    answer: { status: 201, description: 'The secret, shown only once.', schema: issued },
    errors: ['has_secret'],
  },
  rotate_key: {
    method: 'POST',
    path: '/keys/{name}/rotate',
    tag: 'keys',
    summary: 'Mint a new secret and end the older ones',
    params: byName,
    target: 'key',
    body: z
      .strictObject({
        grace: duration()
          .optional()
          .describe('How long older secrets still work. Default: they end at once.'),
      })
      .meta({ id: 'rotation' }),
    answer: { status: 201, description: 'The secret, shown only once.', schema: issued },
    errors: ['has_secret'],
  },
  disable_key: {
    method: 'POST',
    path: '/keys/{name}/disable',
    tag: 'keys',
    summary: 'Suspend a key at once, whatever its owner',
    description: 'The suspension lasts until `enable`, or until the configuration disables the key itself.',
    params: byName,
    target: 'key',
    answer: { status: 200, description: 'The key is disabled.', schema: switched },
  },
  enable_key: {
    method: 'POST',
    path: '/keys/{name}/enable',
    tag: 'keys',
    summary: 'End the suspension of a key',
    params: byName,
    target: 'key',
    answer: { status: 200, description: 'The key is enabled.', schema: switched },
    errors: ['disabled_by_policy'],
  },
  revoke_key: {
    method: 'POST',
    path: '/keys/{name}/revoke',
    tag: 'keys',
    summary: 'Revoke all secrets of a key at once, whatever its owner',
    params: byName,
    target: 'key',
    answer: {
      status: 200,
      description: 'The secrets are revoked.',
      schema: z
        .strictObject({
          key: name,
          secrets: z.int().describe('How many issued secrets were active.'),
          suspended: z
            .boolean()
            .describe('The configuration of the key has a secret, so the key itself was suspended.'),
        })
        .meta({ id: 'key_revoked' }),
    },
  },
} as const satisfies Record<string, Operation>
