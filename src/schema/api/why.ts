import { z } from 'zod'
import { name } from '../scalars.ts'
import { time } from './shapes.ts'
import type { Operation } from './types.ts'

/** What a request passes on its way to an endpoint, in the order in which it is asked (spec/requests.md §2). */
export const CHECKS = [
  'key',
  'maintenance',
  'tenant',
  'body',
  'ban',
  'listing',
  'models',
  'protocol',
  'endpoints',
  'price',
  'key_concurrency',
  'tenant_concurrency',
  'key_rpm',
  'tenant_rpm',
  'key_tpm',
  'tenant_tpm',
  'key_quota',
  'key_budget',
  'tenant_balance',
  'ledger',
] as const

/** Where inference is asked for. */
export const CALL_PATHS = [
  '/v1/chat/completions',
  '/v1/embeddings',
  '/v1/rerank',
  '/v1/messages',
  '/v1/messages/count_tokens',
] as const

const number = z
  .union([z.int(), z.string()])
  .describe('A whole number of requests or tokens; of money an exact decimal as text.')

const rejection = {
  status: z.int().describe('What the client would be answered.'),
  code: z.string().describe('Of the catalogue in `docs/errors.md`.'),
  message: z.string().describe('What the client would be told.'),
  retry_after_seconds: z.int().optional(),
  hint: z.string().optional().describe('What to change, and where.'),
} as const

const usage = z
  .strictObject({
    unit: z.enum(['requests', 'tokens', 'money']),
    limit: number.optional().describe('Absent of a balance, which bounds itself.'),
    burst: z
      .int()
      .optional()
      .describe(
        'Of a rate: what may come at once; any window of t seconds admits at most burst + limit × t / 60.',
      ),
    used: number.optional().describe('Of a balance: what there is. Absent where it is not known.'),
    held: number.describe('By requests that are under way.'),
    needed: number.describe('By the call that is asked about.'),
    fresh_at: time.optional().describe('When nothing of it will be used any more.'),
  })
  .meta({ id: 'limit_usage', description: 'Where one limit stands.' })

const step = z
  .strictObject({
    check: z.enum(CHECKS),
    verdict: z
      .enum(['passes', 'rejects', 'would_reject', 'not_reached', 'assumed'])
      .describe(
        '`rejects`: the first that does, and so the one that answers. `would_reject`: so would this one, were it reached. `assumed`: nothing is known that it could be decided by.',
      ),
    detail: z.string().describe('What was looked at.'),
    rejection: z.strictObject(rejection).optional(),
    usage: usage.optional(),
  })
  .meta({ id: 'why_check', description: 'One check and its verdict.' })

const candidate = z
  .strictObject({
    endpoint: z.string(),
    served_model: z.string().describe('What the model is called there.'),
    priority: z.int(),
    weight: z.int(),
    health: z.enum(['unknown', 'healthy', 'unhealthy']),
    health_since: time.optional(),
    reason: z.string().optional().describe('Why it is unhealthy.'),
    obstacle: z
      .enum(['disabled', 'unhealthy', 'resting', 'full', 'unweighted'])
      .optional()
      .describe('Why nothing goes there now; absent where it is usable.'),
    in_flight: z.int().describe('Requests at hand.'),
    max_concurrency: z.int().optional(),
    cooldown_until: time.optional().describe('It asked to be left alone until then.'),
    next_trial: time.optional().describe('When it is asked again.'),
    share: z.number().describe('How likely the next call begins there, from 0 to 1.'),
  })
  .meta({
    id: 'why_candidate',
    description: 'An endpoint of the model that speaks the protocol of the path.',
  })

const decision = z
  .strictObject({
    served: z.boolean(),
    key: z.string().optional().describe('Absent where the secret opens none.'),
    tenant: z.string().optional(),
    model: z.string(),
    path: z.enum(CALL_PATHS),
    visible: z.boolean().describe('`GET /v1/models` shows the model to this key.'),
    rejection: z
      .strictObject({ check: z.enum(CHECKS), ...rejection })
      .optional()
      .describe('The answer, where it would not be served.'),
    estimate: z
      .strictObject({
        input_tokens: z.int(),
        output_tokens: z.int(),
        amount: z.string().describe('An exact decimal; `0` without a price.'),
      })
      .optional()
      .describe('What would be held. Absent where the call costs nothing, or the model is not known.'),
    checks: z.array(step).describe('In the order in which they are asked; the first that rejects answers.'),
    candidates: z.array(candidate).describe('By tier; what is asked first has the largest share.'),
  })
  .meta({ id: 'decision', description: 'What would become of a call, check by check.' })

const verdictOnOne = {
  visible: z.boolean().describe('`GET /v1/models` shows the model to the key.'),
  served: z.boolean(),
  path: z
    .enum(CALL_PATHS)
    .describe('The path that was asked about, or the first that the model is served at.'),
  rejection: z.strictObject({ check: z.enum(CHECKS), ...rejection }).optional(),
} as const

const explanation = z
  .strictObject({
    source: z
      .enum(['files', 'store', 'gateway'])
      .describe('What was asked: files alone, the store, or the gateway of this process.'),
    at: time.describe('For which moment.'),
    revision: z.int().optional().describe('Absent of files.'),
    unknown: z.array(z.string()).describe('What this source cannot know, and what was taken for it.'),
    decision: decision.optional().describe('Of a key and a model.'),
    models: z
      .array(z.strictObject({ model: z.string(), ...verdictOnOne }))
      .optional()
      .describe('Of a key alone: every publication.'),
    keys: z
      .array(z.strictObject({ key: z.string(), tenant: z.string().optional(), ...verdictOnOne }))
      .optional()
      .describe('Of a model alone: every key.'),
  })
  .meta({ id: 'explanation', description: 'What would be served to whom, and why not.' })

const asked = {
  model: z.string().min(1).max(256).optional().describe('As clients write it. Absent: every publication.'),
  path: z.enum(CALL_PATHS).optional().describe('Default: the first that the model is served at.'),
  input_tokens: z
    .int()
    .min(0)
    .max(100_000_000)
    .optional()
    .describe('Of the call that is asked about; 1 by default.'),
  max_tokens: z
    .int()
    .min(0)
    .max(100_000_000)
    .optional()
    .describe('As the call would ask for; by default it asks for no limit.'),
} as const

/** A question as the command line and REST put it; by secret it is put in a body, never in an address. */
const question = z.strictObject({ key: name.optional(), ...asked })

export const whyOperations = {
  explain: {
    method: 'GET',
    path: '/why',
    tag: 'why',
    summary: 'Why a call would be served or rejected',
    description:
      'By the checks of the gateway itself, without a call: nothing is sent, counted or held. A key and a model: each check. A key alone: every publication. A model alone: every key.',
    query: question,
    answer: { status: 200, description: 'What would become of the call.', schema: explanation },
    errors: ['not_found'],
  },
  explain_secret: {
    method: 'POST',
    path: '/why',
    tag: 'why',
    summary: 'The same by the secret that a client bears',
    description: 'The secret is looked up and forgotten; it appears in no log and in no answer.',
    body: z
      .strictObject({
        secret: z.string().min(1).max(1_024).meta({ format: 'password' }).describe('The whole secret.'),
        ...asked,
      })
      .meta({ id: 'why_secret' }),
    answer: { status: 200, description: 'What would become of the call.', schema: explanation },
    isQuestion: true,
  },
} as const satisfies Record<string, Operation>
