import { z } from 'zod'
import { modelName, name, timestamp, timeZone } from '../scalars.ts'
import { amount, pageOf, pageQuery, time, usedUnits } from './shapes.ts'
import type { Operation } from './types.ts'

const filters = {
  key: name.optional(),
  tenant: name.optional(),
  model: modelName.optional(),
  endpoint: name.optional().describe('With `settings.show_endpoints: false` a tenant finds nothing by it.'),
  since: timestamp.optional().describe('RFC 3339 with a zone.'),
  until: timestamp.optional().describe('RFC 3339 with a zone.'),
}

/** A query whose `since` and `until` are in order: a reversed range would look like one without calls. */
function inOrder<Query extends z.ZodObject>(query: Query): Query {
  return query.refine(({ since, until }) => !(Number(since) > Number(until)), {
    path: ['since'],
    message: 'later than `until`',
  })
}

/** What usage can be split by, beside its first dimension. */
export const USAGE_SPLITS = ['key', 'tenant', 'model', 'endpoint'] as const

const row = z
  .strictObject({
    label: z
      .string()
      .nullable()
      .describe('A name, a day, or the start of an hour in UTC; null for calls of keys without a tenant.'),
    split: z
      .string()
      .nullable()
      .optional()
      .describe('With `split`: the name in the second dimension; null for calls of keys without a tenant.'),
    requests: z.int(),
    input_tokens: z.int(),
    cached_input_tokens: z.int(),
    cache_write_tokens: z.int(),
    output_tokens: z.int(),
    search_units: z.int(),
    duration_ms: z.int().describe('Audio that was heard, in milliseconds.'),
    characters: z.int().describe('Text that was read aloud, in characters.'),
    images: z.int().describe('Images that were made.'),
    cost: amount,
    estimated: z.int().describe('The number of requests with estimated usage.'),
    unpriced: z.int().describe('The number of requests without a price.'),
  })
  .meta({ id: 'usage_row' })

export const call = z
  .strictObject({
    id: z.int(),
    at: time,
    request_id: z.string(),
    key: z.string(),
    tenant: z.string().optional(),
    model: z.string(),
    endpoint: z.string().optional().describe('Absent for tenants with `settings.show_endpoints: false`.'),
    node: z
      .string()
      .optional()
      .describe('The node that served it, of an endpoint on nodes. Only for administrators.'),
    protocol: z.enum(['openai', 'anthropic']),
    path: z.string(),
    status: z.int(),
    stream: z.boolean(),
    outcome: z.string(),
    error_code: z.string().optional(),
    ...usedUnits,
    cost: amount,
    currency: z.string(),
    flags: z.array(z.string()),
    latency_ms: z.number(),
    first_byte_ms: z.number().optional(),
    attempts: z.int(),
    reason: z.string().optional().describe('The cause of the failure. Only for administrators.'),
    failed_attempts: z
      .array(z.string())
      .optional()
      .describe(
        'Each failed attempt: `oai: upstream_error (ECONNREFUSED)`, `qwen on gpu-7: upstream_error (ECONNRESET)`. Only for administrators.',
      ),
  })
  .meta({ id: 'call', description: 'One call. Never contains a prompt or a secret.' })

/** Calls that were rejected before dispatch. */
const rejection = z
  .strictObject({
    id: z.int(),
    at: time,
    request_id: z.string().describe('Of the first of them.'),
    key: z.string().optional(),
    tenant: z.string().optional(),
    asked_model: z.string().optional(),
    protocol: z.enum(['openai', 'anthropic']),
    path: z.string(),
    status: z.int(),
    outcome: z.enum(['rejected', 'failed']),
    error_code: z.string(),
    message: z.string().describe('The message to the client.'),
    reason: z.string().optional().describe('More about the cause. Only for administrators.'),
    count: z.int().describe('Of equal calls in the same second.'),
    dispatched: z.literal(false),
  })
  .meta({ id: 'rejected_call', description: 'Equal calls that were rejected before dispatch.' })

export const usageOperations = {
  get_usage: {
    method: 'GET',
    path: '/usage',
    tag: 'usage',
    summary: 'Show usage and cost',
    description: 'By the end time of the calls, in quarters of an hour. Without `since`: the last 30 days.',
    query: inOrder(
      z.strictObject({
        by: z.enum(['key', 'tenant', 'model', 'endpoint', 'day', 'hour']).default('day'),
        split: z
          .enum(USAGE_SPLITS)
          .optional()
          .describe('A second dimension: a row for each pair with calls.'),
        timezone: timeZone.default('UTC').describe('The time zone of days.'),
        ...filters,
      }),
    ),
    answer: {
      status: 200,
      description:
        'Largest amounts first; days and hours in order, from the first to the last one with calls, including those without if there is no `split`.',
      schema: z
        .strictObject({
          by: z.enum(['key', 'tenant', 'model', 'endpoint', 'day', 'hour']),
          split: z.enum(USAGE_SPLITS).optional(),
          currency: z.string(),
          since: time.describe('Rounded down to a quarter of an hour.'),
          until: time.describe('Rounded up to a quarter of an hour.'),
          data: z.array(row),
        })
        .meta({ id: 'usage' }),
    },
  },
} as const satisfies Record<string, Operation>

export const callOperations = {
  list_calls: {
    method: 'GET',
    path: '/call-logs',
    tag: 'call-logs',
    summary: 'List calls',
    description:
      'Kept for `settings.log.retention`. `count_tokens` leaves no line; for calls that were rejected before dispatch see `GET /rejected-calls`.',
    query: inOrder(
      pageQuery.extend({
        ...filters,
        node: name.optional().describe('Only for administrators.'),
        request_id: z.string().max(128).optional(),
        outcome: z.string().max(64).optional(),
        min_status: z.int().min(100).max(599).optional().describe('400 selects all failed calls.'),
      }),
    ),
    answer: { status: 200, description: 'Newest first.', schema: pageOf(call) },
  },
  list_rejections: {
    method: 'GET',
    path: '/rejected-calls',
    tag: 'call-logs',
    summary: 'List rejected calls',
    description:
      'Calls that were rejected before dispatch: a sample of bounded size, in which equal calls of a second are one line. Without a valid key a call belongs to no tenant.',
    query: inOrder(
      pageQuery.extend({
        key: filters.key,
        tenant: filters.tenant,
        model: filters.model.describe('The model that was asked for.'),
        since: filters.since,
        until: filters.until,
        request_id: z.string().max(128).optional(),
        min_status: z
          .int()
          .min(100)
          .max(599)
          .optional()
          .describe('500 selects those without a fault of the client.'),
      }),
    ),
    answer: { status: 200, description: 'Newest first.', schema: pageOf(rejection) },
  },
} as const satisfies Record<string, Operation>
