import { z } from 'zod'
import { API_FAULTS, type ApiCode } from '../../base/catalogue/api.ts'
import type { JsonSchema } from '../publish.ts'
import { exampleOf } from './examples.ts'
import { GROUPS, INTRODUCTION, TITLES } from './introduction.ts'
import { API_PREFIX, OPERATION_IDS, type OperationId, operation } from './operations.ts'
import { isCounted, permission, rolesOf } from './permissions.ts'
import { problem } from './shapes.ts'
import { type Operation, TAGS, type Tag } from './types.ts'

const PROBLEM_TYPE = 'application/problem+json'
const LOCAL = '#/$defs/'
const SHARED = '#/components/schemas/'

/**
 * The control plane as an OpenAPI 3.1 document (https://spec.openapis.org/oas/v3.1.1), generated from the table of
 * operations.
 */
export function openApi(version: string): JsonSchema {
  const schemas = new Schemas()
  const paths: Record<string, Record<string, JsonSchema>> = {}
  for (const id of OPERATION_IDS) {
    const { method, path } = operation(id)
    const item = (paths[`${API_PREFIX}${path}`] ??= {})
    item[method.toLowerCase()] = describeOperation(id, schemas)
  }
  schemas.of(problem)
  return {
    openapi: '3.1.1',
    info: {
      title: 'gw control plane',
      version,
      summary: 'Manages the gateway over HTTP, beside the files in git.',
      description: INTRODUCTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'The control plane that serves this document.' }],
    tags: (Object.keys(TAGS) as Tag[]).map(name => ({
      name,
      'x-displayName': TITLES[name],
      description: TAGS[name],
    })),
    'x-tagGroups': GROUPS,
    security: [{ bearer: [] }, { cookie: [] }],
    paths,
    components: {
      schemas: schemas.shared(),
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'The `token` of a log-in, for scripts.',
        },
        cookie: {
          type: 'apiKey',
          in: 'cookie',
          name: 'gw_session',
          description:
            'Set by a log-in with `carrier: cookie`; `__Host-gw_session` behind TLS. Changes also need the `x-csrf-token` header.',
        },
      },
    },
  }
}

function describeOperation(id: OperationId, schemas: Schemas): JsonSchema {
  const op = operation(id)
  const { answer, body } = op
  return {
    operationId: id,
    tags: [op.tag],
    summary: op.summary,
    ...(op.description !== undefined && { description: op.description }),
    'x-roles': rolesOf(id),
    ...(permission(id) === 'anyone' && { security: [] }),
    ...(parameters(op, schemas).length > 0 && { parameters: parameters(op, schemas) }),
    ...(body && {
      requestBody: {
        required: true,
        content: { 'application/json': { schema: schemas.of(body), example: exampleOf(id) } },
      },
    }),
    responses: {
      [answer.status]: {
        description: answer.description,
        headers: {
          'x-request-id': { description: 'Identifies the request in the log.', schema: { type: 'string' } },
          ...(answer.etag && {
            etag: { description: 'Send it as `if-match` with a change.', schema: { type: 'string' } },
          }),
        },
        ...(answer.schema && {
          content: answer.isStream
            ? { 'text/event-stream': { schema: eventOf(schemas.of(answer.schema)) } }
            : { 'application/json': { schema: schemas.of(answer.schema) } },
        }),
      },
      ...failures(id),
    },
  }
}

/** Of a stream the schema of each event: its name, and its data as text. */
function eventOf(data: JsonSchema): JsonSchema {
  return {
    type: 'object',
    properties: {
      event: { type: 'string', description: 'The `event` of the data.' },
      data: { type: 'string', contentMediaType: 'application/json', contentSchema: data },
    },
    required: ['event', 'data'],
  }
}

function parameters(op: Operation, schemas: Schemas): JsonSchema[] {
  const list: JsonSchema[] = []
  for (const [where, schema] of [
    ['path', op.params],
    ['query', op.query],
  ] as const) {
    for (const [name, field] of Object.entries(schema?.shape ?? {}) as [string, z.ZodType][]) {
      const { description, ...rest } = schemas.inline(field)
      list.push({
        name,
        in: where,
        required: where === 'path',
        ...(description !== undefined && { description }),
        schema: rest,
      })
    }
  }
  if (op.ifMatch) {
    list.push({
      name: 'if-match',
      in: 'header',
      required: op.ifMatch === 'required',
      description: 'The `etag` of the state that the change is based on; `*` for any state.',
      schema: { type: 'string' },
    })
  }
  return list
}

/** All error responses of an operation, by status. */
function failures(id: OperationId): Record<string, JsonSchema> {
  const byStatus = new Map<number, ApiCode[]>()
  for (const code of faultsOf(id)) {
    const { status } = API_FAULTS[code]
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [
      String(status),
      {
        description: codes.map(code => `\`${code}\`: ${API_FAULTS[code].title}`).join(' '),
        content: { [PROBLEM_TYPE]: { schema: { $ref: `${SHARED}problem` } } },
      },
    ]),
  )
}

/** The errors of an operation: those of its table row, and those that its shape implies. */
export function faultsOf(id: OperationId): readonly ApiCode[] {
  const { params, ifMatch, errors = [], method, needsSession } = operation(id)
  const allowed = permission(id)
  const codes: ApiCode[] = ['bad_request', 'misdirected', 'invalid_request']
  // Also without a declared body: the server reads an unexpected body to reject it.
  if (method !== 'GET')
    codes.push('invalid_json', 'request_timeout', 'request_too_large', 'unsupported_media_type')
  if (allowed !== 'anyone') codes.push('not_logged_in')
  if (isCounted(id)) codes.push('too_many_changes')
  if (needsSession || (allowed !== 'anyone' && allowed.tenant === undefined)) codes.push('forbidden')
  if (method !== 'GET') codes.push('cross_site')
  if (params) codes.push('not_found')
  if (ifMatch) codes.push('changed_meanwhile')
  if (ifMatch === 'required') codes.push('precondition_required')
  return [...new Set<ApiCode>([...codes, ...errors, 'internal_error', 'unavailable'])]
}

/** The JSON Schemas of a document; schemas with an id are shared. */
class Schemas {
  readonly #shared = new Map<string, JsonSchema>()

  /** The schema of a body or of an answer. */
  of(schema: z.ZodType): JsonSchema {
    const { $schema: _dialect, $defs = {}, ...root } = jsonSchema(schema)
    for (const [id, shared] of Object.entries($defs as Record<string, JsonSchema>)) {
      this.#shared.set(id, relocated(shared))
    }
    return relocated(root)
  }

  /** The schema of a parameter. */
  inline(schema: z.ZodType): JsonSchema {
    const { $schema: _dialect, ...root } = jsonSchema(schema)
    return root
  }

  /** The shared schemas, sorted by id. */
  shared(): Record<string, JsonSchema> {
    return Object.fromEntries([...this.#shared].sort(([a], [b]) => (a < b ? -1 : 1)))
  }
}

/** Omits bounds that only mean "safe integer", and patterns that repeat a format. */
function jsonSchema(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, {
    io: 'input',
    override({ jsonSchema: made }) {
      if (made.minimum === Number.MIN_SAFE_INTEGER) delete made.minimum
      if (made.maximum === Number.MAX_SAFE_INTEGER) delete made.maximum
      if (made.format === 'date-time') delete made.pattern
    },
  }) as JsonSchema
}

/** The same schema with references into the document. */
function relocated(schema: JsonSchema): JsonSchema {
  return JSON.parse(JSON.stringify(schema).replaceAll(`"${LOCAL}`, `"${SHARED}`)) as JsonSchema
}
