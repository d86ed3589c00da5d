import { z } from 'zod'
import type { WireCode } from '../base/catalogue/wire.ts'
import { CALL_PATHS } from './api/why.ts'
import { modelName, money, name, text, timestamp } from './scalars.ts'

const tokens = z.int().min(0).max(Number.MAX_SAFE_INTEGER)
/** What a configuration by itself can lead to, in the order of the checks. */
const REJECTIONS = [
  'invalid_api_key',
  'maintenance',
  'tenant_disabled',
  'tenant_banned',
  'model_banned',
  'model_not_found',
  'model_not_allowed',
  'model_not_priced',
  'wrong_protocol',
  'no_healthy_endpoint',
  'rate_limit_requests',
  'rate_limit_tokens',
  'quota_exceeded',
  'budget_exceeded',
] as const satisfies readonly WireCode[]
const code = z.enum(REJECTIONS)
const status = z.int().min(400).max(599)

const usage = z
  .strictObject({
    input: tokens.default(0).describe('Input tokens, those of a cache included.'),
    cached_input: tokens.default(0).describe('Of the input: read from a cache.'),
    cache_write: tokens.default(0).describe('Of the input: written to a cache.'),
    output: tokens.default(0).describe('Output tokens.'),
    search_units: tokens.default(0).describe('Of a rerank answer.'),
  })
  .describe('What an answer used.')

/** What a test may claim; each has one. */
const CLAIMS = ['may_call', 'may_not_call', 'is_rejected', 'routes_to', 'costs'] as const

/** One assertion about a configuration. */
export const configTest = z
  .strictObject({
    name: text.optional().describe('What it promises. Default: made of what it says.'),
    key: name.optional().describe('Who calls.'),
    tenant: name.optional().describe('Who calls: each key of this tenant.'),
    model: modelName.optional().describe('What is called; of `may_call` and `may_not_call` they name it.'),
    path: z.enum(CALL_PATHS).optional().describe('Default: the first path that the model is served at.'),
    input_tokens: tokens.optional().describe('How long the input of the call is. Default: 1.'),
    max_tokens: tokens.optional().describe('The limit that the call asks for. Default: none.'),
    at: timestamp.optional().describe('When. Default: now.'),
    down: z.array(name).optional().describe('Endpoints that are unhealthy meanwhile.'),
    may_call: modelName.optional().describe('The call would be served.'),
    may_not_call: modelName.optional().describe('The call would be rejected.'),
    because: code.optional().describe('Of `may_not_call`: with this error of the catalogue.'),
    status: status.optional().describe('Of `may_not_call`: with this status.'),
    is_rejected: z
      .strictObject({
        status: status.optional().describe('With this status.'),
        code: code.optional().describe('With this error of the catalogue.'),
      })
      .optional()
      .describe('A call of `model` would be rejected.'),
    routes_to: z
      .array(name)
      .optional()
      .describe('All endpoints that may be asked, tier by tier; within a tier in any order.'),
    usage: usage.optional().describe('Of `costs`: what the answer used.'),
    costs: money.optional().describe('What an answer of `model` with `usage` costs, exactly.'),
  })
  .superRefine((test, ctx) => {
    const fault = (field: string, message: string, fault: 'GW1203' | 'GW1206') =>
      ctx.addIssue({ code: 'custom', path: [field], message, params: { fault } })
    const claims = CLAIMS.filter(claim => test[claim] !== undefined)
    const [claim, second] = claims
    if (claim === undefined) {
      fault('may_call', `a test claims one of ${CLAIMS.map(each => `\`${each}\``).join(', ')}`, 'GW1203')
      return
    }
    if (second) fault(second, `a test claims one thing: \`${claim}\` or \`${second}\``, 'GW1206')
    const names = claim === 'may_call' || claim === 'may_not_call'
    if (names && test.model !== undefined) fault('model', `\`${claim}\` names the model already`, 'GW1206')
    if (!names && test.model === undefined) fault('model', `\`${claim}\` is of a model`, 'GW1203')
    if (test.key !== undefined && test.tenant !== undefined)
      fault('tenant', 'either a key or a tenant calls, not both', 'GW1206')
    const needsCaller = names || claim === 'is_rejected'
    if (needsCaller && test.key === undefined && test.tenant === undefined)
      fault('key', `\`${claim}\` is of a key, or of a tenant`, 'GW1203')
    for (const field of ['because', 'status'] as const) {
      if (claim !== 'may_not_call' && test[field] !== undefined)
        fault(field, `\`${field}\` goes with \`may_not_call\``, 'GW1206')
    }
    if (claim === 'costs' && test.usage === undefined) fault('usage', '`costs` is of a `usage`', 'GW1203')
    if (claim !== 'costs' && test.usage !== undefined) fault('usage', '`usage` goes with `costs`', 'GW1206')
  })
  .meta({ id: 'config_test', description: 'One assertion about a configuration.' })

export type ConfigTest = z.output<typeof configTest>

/** A file of tests, which stands beside the configuration and is none of it. */
export const testsDocument = z
  .strictObject({
    version: z.literal(1).describe('The version of this format.'),
    tests: z.array(configTest).describe('What must hold.'),
  })
  .meta({ description: 'Tests of a gw configuration, for `gw test`.' })

/** What a file of tests holds beside them. */
export const testsHead = testsDocument.omit({ tests: true })
