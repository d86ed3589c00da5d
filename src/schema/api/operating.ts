import { z } from 'zod'
import { text } from '../scalars.ts'
import { userName } from '../user.ts'
import { pageOf, pageQuery, time } from './shapes.ts'
import type { Operation } from './types.ts'

const gateway = z
  .strictObject({
    name: z.string().describe('Host and process, or the address.'),
    url: z.string().nullable(),
    version: z.string().nullable(),
    started_at: time.nullable(),
    state: z
      .enum(['ok', 'degraded', 'draining', 'maintenance', 'silent'])
      .describe('As in its `/health`; `silent` without an answer.'),
    revision: z.int().describe('The revision that it serves.'),
    behind: z.boolean().describe('The store has a newer revision.'),
    in_flight: z.int().describe('Requests in flight.'),
    reasons: z.array(z.string()).describe('Problems, each as `code: sentence`.'),
  })
  .meta({ id: 'gateway', description: 'A gateway that serves the store.' })

const flow = {
  requests_per_second: z.number(),
  tokens_per_second: z.number(),
  p50_ms: z.number().nullable().describe('From the first byte of a request to the last of its answer.'),
  p95_ms: z.number().nullable(),
  failed: z.number().describe('The share of attempts or calls that were not answered, 0 to 1.'),
  results: z
    .record(z.string(), z.number())
    .describe('Attempts by result; empty if a gateway of another process needs METRICS_TOKEN.'),
}

const endpointState = {
  name: z.string(),
  state: z.enum(['healthy', 'unhealthy', 'disabled', 'unknown']),
  since: time.nullable(),
  reason: z.string().nullable().describe('The reason, if it is unhealthy.'),
}

const liveStats = z
  .strictObject({
    at: time,
    seconds: z.number().describe('The span of the rates, which cover nothing before it.'),
    store_revision: z.int().nullable().describe('The newest revision of the store.'),
    total: z.strictObject({
      requests_per_second: z.number(),
      tokens_per_second: z.number(),
      in_flight: z.int().describe('Requests in flight, streams included.'),
      rejected_per_second: z
        .number()
        .nullable()
        .describe('Null if only gateways of other processes serve, and METRICS_TOKEN is missing.'),
    }),
    gateways: z.array(gateway),
    endpoints: z.array(z.strictObject({ ...endpointState, ...flow })),
    unanswered: z.int().describe('Enabled endpoints that have neither answered nor failed yet.'),
    models: z.array(z.strictObject({ name: z.string(), ...flow })),
    rejections: z
      .array(
        z.strictObject({
          reason: z.string().describe('An error code.'),
          per_second: z.number(),
          total: z.number().describe('Since the start of the gateway.'),
        }),
      )
      .nullable()
      .describe('Null if only gateways of other processes serve, and METRICS_TOKEN is missing.'),
    keys: z
      .array(
        z.strictObject({
          name: z.string(),
          tenant: z.string().nullable(),
          requests_per_second: z.number(),
          tokens_per_second: z.number(),
          limits: z.array(
            z.strictObject({
              limit: z.string().describe('`budget/month`, `quota`, `rpm`, `tpm`.'),
              used: z.string(),
              of: z.string(),
              share: z.number().describe('1 means fully used.'),
            }),
          ),
        }),
      )
      .describe('Nearest to a limit first.'),
    notes: z.array(z.string()).describe('Sources that could not be read, and what would help.'),
  })
  .meta({ id: 'live_stats', description: 'The activity of the gateways in a span of time.' })

const event = z
  .discriminatedUnion('event', [
    z.strictObject({ event: z.literal('status'), revision: z.int() }),
    z.strictObject({
      event: z.literal('changed'),
      revision: z.int(),
      changes: z
        .array(z.strictObject({ action: z.string(), target: z.string().optional() }))
        .describe('As in the audit log; empty if it has no line of the change yet.'),
    }),
    z.strictObject({ event: z.literal('live_stats'), live_stats: liveStats }),
    z.strictObject({
      event: z.literal('calls'),
      newest: z.int().describe('The id of the newest call; for users of a tenant, of a call of its keys.'),
      newest_rejected: z.int().describe('The same of `GET /rejected-calls`.'),
    }),
  ])
  .meta({ id: 'event', description: 'The data of one event.' })

const status = z
  .strictObject({
    at: time,
    store_revision: z.int().nullable().describe('The newest revision of the store.'),
    problems: z.array(z.string()).describe('In sentences; empty if all is well.'),
    gateways: z.array(gateway),
    endpoints: z.array(z.strictObject(endpointState)),
    unanswered: z.int().describe('Enabled endpoints that have neither answered nor failed yet.'),
    revision: z
      .strictObject({
        id: z.int(),
        at: time,
        author: z.string().nullable(),
        git_commit: z.string().nullable(),
      })
      .nullable()
      .optional()
      .describe('The newest revision; null if nothing was applied yet.'),
    resources: z.record(z.string(), z.int()).optional().describe('Counts by kind.'),
    maintenance: z.boolean().optional().describe('Inference answers 503.'),
    last_hour: z
      .strictObject({ requests: z.int(), tokens: z.int(), amount: z.string(), currency: z.string() })
      .optional()
      .describe('Rounded to quarters of an hour.'),
    notes: z.array(z.string()).describe('Sources that could not be read, and what would help.'),
  })
  .meta({
    id: 'status',
    description: 'The gateways of the store with their revisions, and current problems.',
  })

const line = z
  .strictObject({
    id: z.int(),
    at: time,
    user: z.string(),
    role: z.string(),
    origin: z.enum(['rest', 'cli']).describe('This API, or the command line.'),
    address: z.string().optional().describe('The client address, for `rest`.'),
    action: z.string().describe('The operation.'),
    target: z.string().optional().describe('The target of the change.'),
    revision: z.int().optional().describe('The revision that the change made.'),
    request_id: z.string().optional(),
    reason: z
      .string()
      .optional()
      .describe('Why something was rejected, such as `used_token` of `reject_node`.'),
  })
  .meta({ id: 'audit_line', description: 'A line of the audit log: who changed what, when and from where.' })

const maintenance = z
  .strictObject({
    on: z.boolean().describe('Inference answers 503.'),
    message: z.string().describe('The error message for clients.'),
    declared: z.boolean().describe('Maintenance is on in the configured settings.'),
    switched: z
      .strictObject({ since: time, author: z.string().optional(), message: z.string().optional() })
      .optional()
      .describe('Maintenance was switched on manually.'),
    file: z.string().optional().describe('The file that declares the settings.'),
    line: z.int().optional(),
  })
  .meta({ id: 'maintenance' })

export const maintenanceOperations = {
  get_maintenance: {
    method: 'GET',
    path: '/maintenance',
    tag: 'maintenance',
    summary: 'Show maintenance mode',
    answer: { status: 200, description: 'The state of maintenance mode.', schema: maintenance },
  },
  set_maintenance: {
    method: 'PUT',
    path: '/maintenance',
    tag: 'maintenance',
    summary: 'Switch maintenance mode on or off',
    description:
      'Takes effect at once, outside of the configuration: its settings apply again when the switch is off.',
    body: z
      .strictObject({
        enabled: z.boolean(),
        message: text.optional().describe('The error message for clients.'),
      })
      .meta({ id: 'maintenance_switch' }),
    answer: {
      status: 200,
      description: 'The new state of maintenance mode.',
      schema: maintenance
        .safeExtend({ changed: z.boolean().describe('False if nothing changed.') })
        .meta({ id: 'maintenance_switched' }),
    },
    errors: ['managed_by_config'],
  },
} as const satisfies Record<string, Operation>

export const statusOperations = {
  get_status: {
    method: 'GET',
    path: '/status',
    tag: 'status',
    summary: 'Show the status',
    description: 'Of all gateways that serve the store. The status of this process alone is at `/health`.',
    answer: { status: 200, description: 'The status.', schema: status },
  },
  get_pulse: {
    method: 'GET',
    path: '/pulse',
    tag: 'status',
    summary: 'Show live rates',
    description:
      'What `gw top` shows: rates since the last sample, endpoints, models, and the 50 keys that are nearest to a limit. Samples are shared, and made only while they are asked for: after a while without questions the first one has no rates.',
    answer: { status: 200, description: 'The live statistics.', schema: liveStats },
  },
  watch_events: {
    method: 'GET',
    path: '/events',
    tag: 'status',
    summary: 'Watch changes and live rates',
    description:
      'Server-sent events: `status` at the start, `changed` within two seconds after each change, `calls` after new calls or rejections, at most every two seconds, and for administrators `live_stats` every two seconds. For a tenant `changed` comes after changes of its own keys and of itself, without their lines. Ends with the session. A user has at most eight such streams.',
    query: z.strictObject({
      limit: z.int().min(1).optional().describe('The stream ends after this many events.'),
    }),
    answer: {
      status: 200,
      description: 'Events; the `data` of each is one JSON object.',
      schema: event,
      isStream: true,
    },
    errors: ['too_many_open_requests'],
  },
} as const satisfies Record<string, Operation>

export const auditOperations = {
  list_audit: {
    method: 'GET',
    path: '/audit',
    tag: 'audit',
    summary: 'List the audit log',
    query: pageQuery.extend({
      user: userName.optional(),
      action: z.string().max(64).optional(),
      target: z.string().max(512).optional(),
    }),
    answer: { status: 200, description: 'Newest first.', schema: pageOf(line) },
  },
} as const satisfies Record<string, Operation>
