import { z } from 'zod'
import { CALL_PATHS } from '../paths.ts'
import { name } from '../scalars.ts'
import { time } from './shapes.ts'
import type { Operation } from './types.ts'

/** The checks of a request on its way to an endpoint, in their order (spec/requests.md §2). */
const CHECKS = [
  'key',
  'maintenance',
  'tenant',
  'body',
  'ban',
  'listing',
  'models',
  'protocol',
  'nodes',
  'endpoints',
  'price',
  'ledger',
] as const

const check = z
  .union([z.enum(CHECKS), z.templateLiteral([z.enum(['key', 'tenant']), '_', z.string()])])
  .meta({
    id: 'check_name',
    description:
      'The name of a check. The checks of limits are called `key_rpm`, `tenant_balance` and so on.',
  })

/** The checks that are no limit. */
export type FixedCheck = (typeof CHECKS)[number]
/** Checks of limits run between `price` and `ledger`. */
export type LimitCheck = Exclude<z.infer<typeof check>, FixedCheck>

const number = z
  .union([z.int(), z.string()])
  .describe('A whole number of requests or tokens, or money as an exact decimal text.')

const rejection = {
  status: z.int().describe('The status of the answer.'),
  code: z.string().describe('The error code, see `docs/errors.md`.'),
  message: z.string().describe('The error message for the client.'),
  retry_after_seconds: z.int().optional(),
  hint: z.string().optional().describe('How to fix it.'),
} as const

const rejectedBy = check.optional().describe('Absent for tenants, like the hint.')

const usage = z
  .strictObject({
    unit: z.enum(['requests', 'tokens', 'money']),
    mode: z.literal('shadow').optional().describe('Present if the limit counts and rejects nothing.'),
    limit: number.optional().describe('Absent for a balance.'),
    burst: z
      .int()
      .optional()
      .describe(
        'Only for rates: the size of a burst; any window of t seconds admits at most burst + limit × t / 60.',
      ),
    used: number.optional().describe('For a balance: its amount. Absent if unknown.'),
    held: number.describe('Reserved by requests in flight.'),
    needed: number.describe('Needed by this call.'),
    fresh_at: time.optional().describe('When the limit will be fully available again.'),
  })
  .meta({ id: 'limit_usage', description: 'The usage of one limit.' })

const step = z
  .strictObject({
    check,
    verdict: z
      .enum(['passes', 'rejects', 'would_reject', 'not_reached', 'assumed'])
      .describe(
        '`rejects`: the first rejection, which answers the call. `would_reject`: would also reject, if reached, or if its limit were not in shadow mode. `assumed`: assumed to pass, for lack of data.',
      ),
    detail: z.string().describe('The facts behind the verdict.'),
    rejection: z.strictObject(rejection).optional(),
    usage: usage.optional(),
  })
  .meta({ id: 'why_check', description: 'One check and its verdict.' })

const candidate = z
  .strictObject({
    endpoint: z.string(),
    node: z.string().optional().describe('The node, of an endpoint on nodes.'),
    served_model: z.string().describe('The model name at the upstream.'),
    priority: z.int(),
    weight: z.number().describe('Nodes of an endpoint share its weight.'),
    health: z.enum(['unknown', 'healthy', 'unhealthy']),
    health_since: time.optional(),
    reason: z.string().optional().describe('The reason, if it is unhealthy.'),
    obstacle: z
      .enum([
        'disabled',
        'unhealthy',
        'cooling_down',
        'full',
        'unweighted',
        'no_node',
        'silent',
        'draining',
        'engine_down',
        'busy',
      ])
      .optional()
      .describe('Why the endpoint gets no calls now; absent if it is usable.'),
    in_flight: z.int().describe('Requests in flight.'),
    max_concurrency: z.int().optional(),
    cooldown_until: time.optional().describe('The end of its cooldown.'),
    next_probe: time.optional().describe('The time of the next half-open probe.'),
    share: z.number().describe('The probability that the next call starts here, from 0 to 1.'),
  })
  .meta({
    id: 'why_candidate',
    description: 'An endpoint of the model that speaks the protocol of the path.',
  })

const decision = z
  .strictObject({
    served: z.boolean(),
    key: z.string().optional().describe('Absent if no key has the secret.'),
    tenant: z.string().optional(),
    model: z.string(),
    path: z.enum(CALL_PATHS),
    visible: z.boolean().describe('`GET /v1/models` shows the model to this key.'),
    rejection: z
      .strictObject({ check: rejectedBy, ...rejection })
      .optional()
      .describe('The error, if the call would be rejected.'),
    estimate: z
      .strictObject({
        input_tokens: z.int(),
        output_tokens: z.int(),
        amount: z.string().describe('An exact decimal; `0` without a price.'),
      })
      .optional()
      .describe('The amount to reserve. Absent if the call costs nothing, or the model is unknown.'),
    checks: z
      .array(step)
      .describe(
        'In order; the first rejection answers the call. For tenants limits alone, of models that the key sees.',
      ),
    candidates: z.array(candidate).describe('By tier; largest share first. None for tenants.'),
  })
  .meta({ id: 'decision', description: 'The decision on a call, check by check.' })

const shortDecision = {
  visible: z.boolean().describe('`GET /v1/models` shows the model to the key.'),
  served: z.boolean(),
  path: z.enum(CALL_PATHS).describe('The path of the query, or the first path that serves the model.'),
  rejection: z.strictObject({ check: rejectedBy, ...rejection }).optional(),
} as const

const explanation = z
  .strictObject({
    source: z
      .enum(['files', 'store', 'gateway'])
      .describe('The source of the data: files alone, the store, or the gateway of this process.'),
    at: time.describe('The time of the decision.'),
    revision: z.int().optional().describe('Absent for `files`.'),
    unknown: z.array(z.string()).describe('Facts that this source lacks, and the assumptions instead.'),
    decision: decision.optional().describe('For a key and a model.'),
    models: z
      .array(z.strictObject({ model: z.string(), ...shortDecision }))
      .optional()
      .describe('For a key without a model: every publication.'),
    keys: z
      .array(z.strictObject({ key: z.string(), tenant: z.string().optional(), ...shortDecision }))
      .optional()
      .describe('For a model without a key: every key.'),
  })
  .meta({ id: 'explanation', description: 'Whether calls would be served, and why not.' })

const callFields = {
  model: z
    .string()
    .min(1)
    .max(256)
    .optional()
    .describe('The name that clients send. Absent: every publication.'),
  path: z.enum(CALL_PATHS).optional().describe('Default: the first path that serves the model.'),
  input_tokens: z
    .int()
    .min(0)
    .max(100_000_000)
    .optional()
    .describe('The input tokens of the call; 1 by default.'),
  max_tokens: z
    .int()
    .min(0)
    .max(100_000_000)
    .optional()
    .describe('The output limit of the call; none by default.'),
} as const

/** The query of the command line and REST; a secret is sent in a body, never in a URL. */
const query = z.strictObject({ key: name.optional(), ...callFields })

export const whyOperations = {
  explain: {
    method: 'GET',
    path: '/why',
    tag: 'why',
    summary: 'Why a call would be served or rejected',
    description:
      'Runs the checks of the gateway without a call: nothing is sent, counted or reserved. With a key and a model: each check. With a key alone: every publication. With a model alone: every key. Tenants name a key of their own; they get the answer that the call would get, and the limits of the key and the tenant. One explanation is computed at a time; a user has at most four open.',
    query,
    answer: { status: 200, description: 'The decision on the call.', schema: explanation },
    errors: ['not_found', 'too_many_open_requests'],
  },
  explain_secret: {
    method: 'POST',
    path: '/why',
    tag: 'why',
    summary: 'The same for the secret of a client',
    description: 'The secret is only looked up; it appears in no log or answer.',
    body: z
      .strictObject({
        secret: z.string().min(1).max(1_024).meta({ format: 'password' }).describe('The whole secret.'),
        ...callFields,
      })
      .meta({ id: 'why_secret' }),
    answer: { status: 200, description: 'The decision on the call.', schema: explanation },
    errors: ['too_many_open_requests'],
    isReadOnly: true,
  },
} as const satisfies Record<string, Operation>
