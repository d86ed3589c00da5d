import { z } from 'zod'
import type { WireCode } from '../base/catalogue/wire.ts'
import { engineName, nodeLabels } from './node.ts'
import { CALL_PATHS } from './paths.ts'
import { modelName, money, name, text, timestamp } from './scalars.ts'

const tokens = z.int().min(0).max(Number.MAX_SAFE_INTEGER)
/** Errors that a configuration by itself can cause, in the order of the checks. */
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
    input: tokens.default(0).describe('Input tokens, including cached ones.'),
    cached_input: tokens.default(0).describe('Input tokens read from a cache.'),
    cache_write: tokens.default(0).describe('Input tokens written to a cache.'),
    output: tokens.default(0).describe('Output tokens.'),
    search_units: tokens.default(0).describe('Search units of a rerank answer.'),
    duration_ms: tokens.default(0).describe('Audio that is heard, in milliseconds.'),
    characters: tokens.default(0).describe('Text that is read aloud, in characters.'),
    images: tokens.default(0).describe('Images that are made.'),
  })
  .describe('The usage of an answer.')

const connectedNode = z
  .strictObject({
    labels: nodeLabels.optional().describe('The labels of its token. For nodes that no file declares.'),
    engines: z.array(engineName).optional().describe('The engines that it offers. Default: every engine.'),
    draining: z.boolean().default(false).describe('It takes no new calls.'),
  })
  .describe('A connected node.')

/** The possible assertions; each test has exactly one. */
const CLAIMS = ['may_call', 'may_not_call', 'is_rejected', 'routes_to', 'costs'] as const

/** One assertion about a configuration. */
export const configTest = z
  .strictObject({
    name: text.optional().describe('A title. Default: generated from the assertion.'),
    key: name.optional().describe('The calling key.'),
    tenant: name.optional().describe('The calling tenant: each of its keys.'),
    model: modelName
      .optional()
      .describe('The called model; `may_call` and `may_not_call` name it themselves.'),
    path: z.enum(CALL_PATHS).optional().describe('Default: the first path that serves the model.'),
    input_tokens: tokens.optional().describe('The input tokens of the call. Default: 1.'),
    max_tokens: tokens.optional().describe('The output limit of the call. Default: none.'),
    at: timestamp.optional().describe('The time of the call. Default: now.'),
    down: z.array(name).optional().describe('Endpoints that are unhealthy.'),
    nodes: z
      .record(name, connectedNode)
      .optional()
      .describe('The nodes that are connected. Default: each declared node, with every engine.'),
    may_call: modelName.optional().describe('The call would be served.'),
    may_not_call: modelName.optional().describe('The call would be rejected.'),
    because: code.optional().describe('For `may_not_call`: the error code.'),
    status: status.optional().describe('For `may_not_call`: the status.'),
    is_rejected: z
      .strictObject({
        status: status.optional().describe('The status.'),
        code: code.optional().describe('The error code.'),
      })
      .optional()
      .describe('A call of `model` would be rejected.'),
    routes_to: z
      .array(z.union([name, z.templateLiteral([name, ' on ', name])]))
      .optional()
      .describe(
        'All usable endpoints, tier by tier; within a tier in any order. `qwen on gpu-7` is an endpoint on a node.',
      ),
    usage: usage.optional().describe('For `costs`: the usage of the answer.'),
    costs: money.optional().describe('The exact cost of an answer of `model` with `usage`.'),
  })
  .superRefine((test, ctx) => {
    const fault = (field: string, message: string, fault: 'missing_field' | 'fields_conflict') =>
      ctx.addIssue({ code: 'custom', path: [field], message, params: { fault } })
    const claims = CLAIMS.filter(claim => test[claim] !== undefined)
    const [claim, second] = claims
    if (claim === undefined) {
      fault(
        'may_call',
        `a test claims one of ${CLAIMS.map(each => `\`${each}\``).join(', ')}`,
        'missing_field',
      )
      return
    }
    if (second) fault(second, `a test claims one thing: \`${claim}\` or \`${second}\``, 'fields_conflict')
    const names = claim === 'may_call' || claim === 'may_not_call'
    if (names && test.model !== undefined)
      fault('model', `\`${claim}\` names the model already`, 'fields_conflict')
    if (!names && test.model === undefined) fault('model', `\`${claim}\` is of a model`, 'missing_field')
    if (test.key !== undefined && test.tenant !== undefined)
      fault('tenant', 'either a key or a tenant calls, not both', 'fields_conflict')
    const needsCaller = names || claim === 'is_rejected'
    if (needsCaller && test.key === undefined && test.tenant === undefined)
      fault('key', `\`${claim}\` is of a key, or of a tenant`, 'missing_field')
    for (const field of ['because', 'status'] as const) {
      if (claim !== 'may_not_call' && test[field] !== undefined)
        fault(field, `\`${field}\` goes with \`may_not_call\``, 'fields_conflict')
    }
    if (claim === 'costs' && test.usage === undefined)
      fault('usage', '`costs` is of a `usage`', 'missing_field')
    if (claim !== 'costs' && test.usage !== undefined)
      fault('usage', '`usage` goes with `costs`', 'fields_conflict')
  })
  .meta({ id: 'config_test', description: 'One assertion about a configuration.' })

export type ConfigTest = z.output<typeof configTest>

/** A file of tests beside the configuration. */
export const testsDocument = z
  .strictObject({
    version: z.literal(1).describe('The version of this format.'),
    tests: z.array(configTest).describe('The tests.'),
  })
  .meta({ description: 'Tests of a gw configuration, for `gw test`.' })

/** A file of tests without its tests. */
export const testsHead = testsDocument.omit({ tests: true })
