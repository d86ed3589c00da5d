import { z } from 'zod'
import { endpoint, plainHeaders, plainProxy } from '../endpoint.ts'
import { name } from '../scalars.ts'
import { patchOf, shownShape } from './reshape.ts'
import { byName, ownershipFields, pageOf, resourceQuery, revised, time } from './shapes.ts'
import type { Operation } from './types.ts'

/** REST takes the credential itself; a reference would read files and variables of this machine. */
const secretValue = z
  .string()
  .max(65_536)
  .regex(/^[\x21-\x7e]+$/, 'printable characters without spaces')
  .optional()
  .meta({
    format: 'password',
    description:
      'The credential for the upstream. Write-only: it is stored encrypted, for this endpoint and the origin of its `base_url`, and never shown. Send it again with a new origin; null removes it.',
  })

const shownSecret = z
  .strictObject({
    env: z.string().optional(),
    file: z.string().optional(),
    stored: z.literal(true).optional().describe('The credential was set over this API.'),
    since: time.optional().describe('When it was set over this API.'),
  })
  .optional()
  .describe('The source of the credential: a variable, a file, or this API. Never the credential itself.')

/** References would read files and variables of this machine: `tls` is for configuration files. */
const { tls: _tls, ...settable } = endpoint.shape

const fields = {
  ...settable,
  upstream_key: secretValue,
  headers: plainHeaders.default({}),
  proxy: plainProxy,
}

const shown = z
  .strictObject({
    name,
    ...shownShape({ ...endpoint.shape, upstream_key: shownSecret }),
    ...ownershipFields,
    matched_nodes: z
      .strictObject({
        joined: z.int().describe('Nodes that have joined.'),
        connected: z.int().describe('Those of them that are connected now.'),
      })
      .optional()
      .describe('How many nodes it chooses; absent with `base_url`.'),
    health: z
      .strictObject({
        state: z.enum(['unknown', 'healthy', 'unhealthy']),
        since: time,
        reason: z.string().optional().describe('The reason, if it is unhealthy.'),
      })
      .optional()
      .describe('As seen by the gateway of this process; absent without a gateway.'),
  })
  .meta({ id: 'endpoint_shown', description: 'The present state of an endpoint.' })

export const probe = z
  .strictObject({
    endpoint: z.string(),
    protocol: z.string(),
    model: z.string(),
    state: z.enum(['ok', 'failed', 'skipped']),
    latency_ms: z.int().nullable(),
    by: z.string().optional().describe('The kind of answer that was taken for a success.'),
    paths: z
      .array(z.string())
      .nullable()
      .optional()
      .describe(
        'The paths that the upstream serves, if asked for: with the first model that answers. Null: its answers do not say.',
      ),
    models: z
      .array(z.string())
      .nullable()
      .optional()
      .describe('The models that the upstream lists, if asked for. Null: it lists none.'),
    reason: z.string().optional().describe('Why it was skipped.'),
    fault: z.string().optional(),
    status: z.int().nullable().optional(),
    cause: z.string().optional(),
    hint: z.string().optional(),
    fix: z
      .strictObject({ base_url: z.string().optional(), protocol: z.string().optional() })
      .optional()
      .describe('Fields of the endpoint that would fix it, if they are known.'),
  })
  .meta({ id: 'probe', description: 'A minimal request to one model of an endpoint.' })

const probes = z
  .strictObject({
    ok: z.int().describe('Models that answer.'),
    failed: z.int(),
    skipped: z.int(),
    probes: z.array(probe),
  })
  .meta({ id: 'probes', description: 'The results of minimal requests.' })

const candidate = { ...fields, served_model: fields.served_model.optional() }

export const endpointOperations = {
  list_endpoints: {
    method: 'GET',
    path: '/endpoints',
    tag: 'endpoints',
    summary: 'List endpoints',
    query: resourceQuery,
    answer: { status: 200, description: 'Sorted by name.', schema: pageOf(shown) },
  },
  create_endpoint: {
    method: 'POST',
    path: '/endpoints',
    tag: 'endpoints',
    summary: 'Create an endpoint',
    description:
      'The gateway first probes it with a minimal request, unless it is disabled or `skip_probe` is true; if the probe fails, the request is rejected with a diagnosis.',
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
    description:
      'If the change affects requests to the upstream, the endpoint is probed first, as on creation.',
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
    description: 'Rejected while a binding uses the endpoint.',
    params: byName,
    answer: { status: 200, description: 'The endpoint is deleted.', schema: revised },
    errors: ['managed_by_config', 'in_use'],
    ifMatch: 'optional',
  },
  probe_candidate: {
    method: 'POST',
    path: '/endpoints/probe',
    tag: 'endpoints',
    summary: 'Probe an endpoint that does not exist yet',
    description:
      'The fields of a new endpoint, with its credential, which is sent to its address and not stored. Also lists the models and finds the paths of the upstream. Without `served_model` the first listed model is asked.',
    body: z.strictObject(candidate).meta({ id: 'candidate_endpoint' }),
    answer: { status: 200, description: 'One row.', schema: probes },
    isReadOnly: true,
    sendsRequests: true,
  },
  probe_endpoint: {
    method: 'POST',
    path: '/endpoints/{name}/probe',
    tag: 'endpoints',
    summary: 'Probe an endpoint',
    description:
      'Sends one minimal request for each model, which costs a token or two. An endpoint with `skip_probe` is never probed: its row is `skipped`.',
    params: byName,
    query: z.strictObject({
      paths: z
        .boolean()
        .default(false)
        .describe('Also find the paths that the upstream serves, by empty requests that cost nothing.'),
    }),
    answer: { status: 200, description: 'A row for each model.', schema: probes },
    isReadOnly: true,
    sendsRequests: true,
  },
} as const satisfies Record<string, Operation>
