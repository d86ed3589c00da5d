import { z } from 'zod'
import { endpoint, plainHeaders, plainProxy } from '../endpoint.ts'
import { name } from '../scalars.ts'
import { patchOf, shownShape } from './reshape.ts'
import { byName, pageOf, pageQuery, revised, standing, time } from './shapes.ts'
import type { Operation } from './types.ts'

/** Over the network a credential comes as itself; a reference to this machine's files and variables would read them. */
const secretValue = z
  .string()
  .max(65_536)
  .regex(/^[\x21-\x7e]+$/, 'printable characters without spaces')
  .optional()
  .meta({
    format: 'password',
    description:
      'The credential for the upstream. Written only: it is kept encrypted, for this endpoint and the origin of its `base_url`, and never shown. To be sent again with a new origin; null takes it away.',
  })

const shownSecret = z
  .strictObject({
    env: z.string().optional(),
    file: z.string().optional(),
    stored: z.literal(true).optional().describe('It was given here.'),
    since: time.optional().describe('Of one that was given here: when.'),
  })
  .optional()
  .describe(
    'Where the credential comes from: a variable, a file, or what was given here. Never the credential.',
  )

const fields = {
  ...endpoint.shape,
  upstream_key: secretValue,
  headers: plainHeaders.default({}),
  proxy: plainProxy,
}

const shown = z
  .strictObject({
    name,
    ...shownShape({ ...endpoint.shape, upstream_key: shownSecret }),
    ...standing,
    health: z
      .strictObject({
        state: z.enum(['unknown', 'healthy', 'unhealthy']),
        since: time,
        reason: z.string().optional().describe('Why it is unhealthy.'),
      })
      .optional()
      .describe('As the gateway of this process sees it; absent where it has none.'),
  })
  .meta({ id: 'endpoint_shown', description: 'An upstream, as it stands.' })

const probed = z
  .strictObject({
    endpoint: z.string(),
    ok: z.boolean(),
    latency_ms: z.number().optional(),
    cause: z.string().optional().describe('What went wrong.'),
    hint: z.string().optional().describe('What would hint it.'),
  })
  .meta({ id: 'probed', description: 'What a minimal chat has shown.' })

export const endpointOperations = {
  list_endpoints: {
    method: 'GET',
    path: '/endpoints',
    tag: 'endpoints',
    summary: 'List endpoints',
    query: pageQuery,
    answer: { status: 200, description: 'By name.', schema: pageOf(shown) },
  },
  create_endpoint: {
    method: 'POST',
    path: '/endpoints',
    tag: 'endpoints',
    summary: 'Create an endpoint',
    description:
      'It is asked for a minimal chat first, unless it is disabled or `skip_probe` is true; one that does not answer as it should is rejected with a diagnosis.',
    body: z.strictObject({ name, ...fields }).meta({ id: 'new_endpoint' }),
    answer: { status: 201, description: 'The endpoint.', schema: shown, etag: true },
    errors: ['already_exists', 'managed_by_config', 'not_servable', 'probe_failed'],
  },
  get_endpoint: {
    method: 'GET',
    path: '/endpoints/{name}',
    tag: 'endpoints',
    summary: 'Show an endpoint',
    params: byName,
    answer: { status: 200, description: 'The endpoint.', schema: shown, etag: true },
  },
  update_endpoint: {
    method: 'PATCH',
    path: '/endpoints/{name}',
    tag: 'endpoints',
    summary: 'Change an endpoint',
    description: 'Where the change alters what is sent or where, it is probed first, as by a creation.',
    params: byName,
    body: patchOf(fields).meta({ id: 'endpoint_patch' }),
    answer: { status: 200, description: 'The endpoint.', schema: shown, etag: true },
    errors: ['managed_by_config', 'not_servable', 'probe_failed'],
    ifMatch: 'required',
  },
  enable_endpoint: {
    method: 'POST',
    path: '/endpoints/{name}/enable',
    tag: 'endpoints',
    summary: 'Let an endpoint serve traffic',
    params: byName,
    answer: { status: 200, description: 'The endpoint.', schema: shown, etag: true },
    errors: ['managed_by_config', 'not_servable', 'probe_failed'],
  },
  disable_endpoint: {
    method: 'POST',
    path: '/endpoints/{name}/disable',
    tag: 'endpoints',
    summary: 'Take an endpoint out of traffic',
    params: byName,
    answer: { status: 200, description: 'The endpoint.', schema: shown, etag: true },
    errors: ['managed_by_config', 'not_servable'],
  },
  delete_endpoint: {
    method: 'DELETE',
    path: '/endpoints/{name}',
    tag: 'endpoints',
    summary: 'Delete an endpoint',
    description: 'One that is still bound is rejected.',
    params: byName,
    answer: { status: 200, description: 'It is gone.', schema: revised },
    errors: ['managed_by_config', 'in_use'],
    ifMatch: 'optional',
  },
  probe_endpoint: {
    method: 'POST',
    path: '/endpoints/{name}/probe',
    tag: 'endpoints',
    summary: 'Ask an endpoint for a minimal chat',
    description: 'Costs a token or two at the vendor. One with `skip_probe` is never asked: 409.',
    params: byName,
    answer: { status: 200, description: 'What came of it.', schema: probed },
    errors: ['not_probed'],
    isQuestion: true,
  },
} as const satisfies Record<string, Operation>
