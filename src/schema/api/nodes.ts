import { z } from 'zod'
import { engineName, nodeLabels } from '../node.ts'
import { duration, name } from '../scalars.ts'
import { byName, pageOf, pageQuery, time } from './shapes.ts'
import type { Operation } from './types.ts'

const DAY_MS = 86_400_000
export const DEFAULT_JOIN_MS = 3_600_000

/** A name, or a glob over names. */
export const nodePattern = z
  .string()
  .regex(
    /^[A-Za-z0-9*][A-Za-z0-9._@:/*-]{0,127}$/,
    'letters, digits and . _ @ : / - *, at most 128 characters',
  )

const engine = z
  .strictObject({
    name: engineName,
    state: z.enum(['up', 'down']),
    kind: z.string().optional().describe('Such as `vllm`, `sglang` or `ollama`; absent if unknown.'),
    models: z.array(z.string()).describe('The models that it lists.'),
    load: z
      .strictObject({
        running: z.number().describe('Requests in work.'),
        waiting: z.number().describe('Requests that wait.'),
        cache: z.number().optional().describe('The share of its cache that is full, 0 to 1.'),
      })
      .optional()
      .describe('By its own figures; only over REST, and absent if it has none.'),
  })
  .meta({ id: 'node_engine', description: 'An engine, as its node reports it.' })

const endpointOnNode = z
  .strictObject({
    name,
    state: z
      .enum(['healthy', 'unhealthy', 'unknown'])
      .optional()
      .describe('On this node, as the gateway of the control plane sees it; only over REST.'),
    in_flight: z
      .int()
      .optional()
      .describe('Requests in flight on this node at that gateway; only over REST.'),
  })
  .meta({ id: 'node_endpoint', description: 'An endpoint on a node.' })

const shown = z
  .strictObject({
    name,
    state: z
      .enum(['connected', 'draining', 'disconnected'])
      .describe('`draining`: it gets no new calls, until it is uncordoned.'),
    declared: z.boolean().describe('Whether the configuration declares it.'),
    labels: nodeLabels.describe('Those of the configuration, or of its join token.'),
    joined_at: time,
    draining_since: time.optional(),
    connected_at: time.optional().describe('Absent if it is not connected.'),
    address: z.string().optional().describe('From where it is connected.'),
    version: z.string().optional().describe('The version of gw on the node.'),
    engines: z.array(engine).optional().describe('Absent if it is not connected.'),
    endpoints: z.array(endpointOnNode).describe('Endpoints that choose this node, by name.'),
  })
  .meta({ id: 'node_shown', description: 'A node that has joined.' })

const token = z
  .strictObject({
    id: z.string(),
    pattern: nodePattern.describe('The name of the node, or a glob over names.'),
    labels: nodeLabels.describe('Labels of the nodes, where `settings.nodes.admission` is `token`.'),
    uses_left: z.int(),
    created_at: time,
    expires_at: time,
    created_by: z.string().optional(),
  })
  .meta({ id: 'join_token', description: 'A token with which nodes join; never the token itself.' })

const issued = token
  .safeExtend({
    token: z.string().describe('For `gw node join`. Shown only once.'),
    server: z
      .string()
      .optional()
      .describe('Where the gateway of the control plane listens for nodes, if it does; only over REST.'),
  })
  .meta({ id: 'issued_join_token', description: 'A new join token.' })

const revoked = z
  .strictObject({ name, revoked: z.literal(true) })
  .meta({ id: 'node_revoked', description: 'The credential of a node has ended.' })

export const nodeOperations = {
  list_nodes: {
    method: 'GET',
    path: '/nodes',
    tag: 'nodes',
    summary: 'List nodes',
    query: pageQuery.extend({
      q: z.string().min(1).max(128).optional().describe('A part of the name.'),
      endpoint: name.optional().describe('Only nodes that this endpoint chooses.'),
    }),
    answer: { status: 200, description: 'Those that have joined, sorted by name.', schema: pageOf(shown) },
  },
  get_node: {
    method: 'GET',
    path: '/nodes/{name}',
    tag: 'nodes',
    summary: 'Show a node',
    params: byName,
    answer: { status: 200, description: 'The node.', schema: shown },
  },
  drain_node: {
    method: 'POST',
    path: '/nodes/{name}/drain',
    tag: 'nodes',
    summary: 'Give a node no new calls',
    description:
      'Those in flight go on. It takes effect within a second, and lasts until the node is uncordoned.',
    params: byName,
    answer: { status: 200, description: 'The node.', schema: shown },
  },
  uncordon_node: {
    method: 'POST',
    path: '/nodes/{name}/uncordon',
    tag: 'nodes',
    summary: 'Give a node calls again',
    params: byName,
    answer: { status: 200, description: 'The node.', schema: shown },
  },
  revoke_node: {
    method: 'POST',
    path: '/nodes/{name}/revoke',
    tag: 'nodes',
    summary: 'End the credential of a node',
    description:
      'Its connection ends within a second, with all calls on it. It can join again with a new token.',
    params: byName,
    answer: { status: 200, description: 'The credential has ended.', schema: revoked },
  },
  list_join_tokens: {
    method: 'GET',
    path: '/join-tokens',
    tag: 'nodes',
    summary: 'List join tokens',
    query: pageQuery,
    answer: { status: 200, description: 'Those that can be used, by id.', schema: pageOf(token) },
  },
  create_join_token: {
    method: 'POST',
    path: '/join-tokens',
    tag: 'nodes',
    summary: 'Create a join token',
    description: 'A node exchanges it for a credential of its own.',
    body: z
      .strictObject({
        pattern: nodePattern.describe('The name of the node, or a glob over names.'),
        labels: nodeLabels.default({}).describe('Labels of the nodes that join with it.'),
        uses: z.int().min(1).max(1_000).default(1).describe('How many times it can be used.'),
        expires_in: duration({ minMs: 60_000, maxMs: 30 * DAY_MS })
          .prefault('1h')
          .describe('How long it can be used; at most 30 days.'),
      })
      .meta({ id: 'new_join_token' }),
    answer: { status: 201, description: 'The token.', schema: issued },
  },
  revoke_join_token: {
    method: 'DELETE',
    path: '/join-tokens/{name}',
    tag: 'nodes',
    summary: 'Revoke a join token',
    params: z.strictObject({ name: z.string().min(1).max(64).describe('The `id` of the token.') }),
    answer: { status: 204, description: 'The token is revoked.' },
  },
} as const satisfies Record<string, Operation>
