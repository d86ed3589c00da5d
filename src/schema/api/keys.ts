import { z } from 'zod'
import { key } from '../key.ts'
import { duration, name } from '../scalars.ts'
import { patchOf, shownShape } from './reshape.ts'
import { byName, pageOf, pageQuery, revised, standing, time } from './shapes.ts'
import type { Operation } from './types.ts'

// A reference to this machine's files or variables is for configuration files, which this machine's people review.
const { secret: _secret, ...policy } = key.shape
const { hash: _hash, ...shownPolicy } = policy

const shown = z
  .strictObject({
    name,
    ...shownShape(shownPolicy),
    state: z
      .enum(['active', 'disabled', 'held', 'expired', 'no_secret'])
      .describe('Why it opens the gate or not. `held`: disabled by hand, whatever its policy says.'),
    suspended_at: time.optional(),
    secret: z
      .strictObject({
        source: z.enum(['issued', 'hash', 'reference']).optional(),
        created_at: time.optional(),
        active: z
          .int()
          .describe('Issued secrets that open the gate now: two during the grace of a rotation.'),
      })
      .describe('What is known of its secret; never the secret, never its hash.'),
    ...standing,
  })
  .meta({ id: 'key_shown', description: 'An API key, as it stands.' })

const issued = z
  .strictObject({
    key: name,
    secret: z.string().describe('Shown this once: only its hash is kept.'),
    grace_until: time.optional().describe('Until when the older secrets work.'),
  })
  .meta({ id: 'issued_secret', description: 'A secret that was just minted.' })

const switched = z
  .strictObject({
    key: name,
    state: z.enum(['enabled', 'disabled']),
    changed: z.boolean().describe('False where it was so already.'),
  })
  .meta({ id: 'key_switched' })

export const keyOperations = {
  list_keys: {
    method: 'GET',
    path: '/keys',
    tag: 'keys',
    summary: 'List keys',
    query: pageQuery.extend({ tenant: name.optional().describe('Those of this tenant only.') }),
    answer: { status: 200, description: 'By name.', schema: pageOf(shown) },
  },
  create_key: {
    method: 'POST',
    path: '/keys',
    tag: 'keys',
    summary: 'Create a key',
    description: 'It has no secret yet, unless `hash` brings one along: issue one then.',
    body: z.strictObject({ name, ...policy }).meta({ id: 'new_key' }),
    answer: { status: 201, description: 'The key.', schema: shown, etag: true },
    errors: ['already_exists', 'managed_by_config', 'not_servable'],
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
    description: 'What it has used stays in the ledger.',
    params: byName,
    target: 'key',
    answer: { status: 200, description: 'It is gone.', schema: revised },
    errors: ['managed_by_config'],
    ifMatch: 'optional',
  },
  issue_key: {
    method: 'POST',
    path: '/keys/{name}/issue',
    tag: 'keys',
    summary: 'Mint the first secret of a key',
    params: byName,
    target: 'key',
    answer: { status: 201, description: 'The secret, this once.', schema: issued },
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
          .describe('How long the older secrets still work. Default: they end at once.'),
      })
      .meta({ id: 'rotation' }),
    answer: { status: 201, description: 'The secret, this once.', schema: issued },
    errors: ['has_secret'],
  },
  disable_key: {
    method: 'POST',
    path: '/keys/{name}/disable',
    tag: 'keys',
    summary: 'Stop a key at once, whoever owns it',
    description: 'It holds until it is taken back, or until the configuration disables the key itself.',
    params: byName,
    target: 'key',
    answer: { status: 200, description: 'It is disabled.', schema: switched },
  },
  enable_key: {
    method: 'POST',
    path: '/keys/{name}/enable',
    tag: 'keys',
    summary: 'Take the disabling back',
    params: byName,
    target: 'key',
    answer: { status: 200, description: 'It is enabled.', schema: switched },
    errors: ['disabled_by_policy'],
  },
  revoke_key: {
    method: 'POST',
    path: '/keys/{name}/revoke',
    tag: 'keys',
    summary: 'End every secret of a key at once, whoever owns it',
    params: byName,
    target: 'key',
    answer: {
      status: 200,
      description: 'They have ended.',
      schema: z
        .strictObject({
          key: name,
          secrets: z.int().describe('Issued secrets that worked until now.'),
          held: z
            .boolean()
            .describe('Its configuration brings a secret along, so the key itself was disabled.'),
        })
        .meta({ id: 'key_revoked' }),
    },
  },
} as const satisfies Record<string, Operation>
