import { z } from 'zod'
import { API_FAULTS } from '../../src/base/catalogue/api.ts'
import { faultsOf, openApi } from '../../src/schema/api/openapi.ts'
import { API_PREFIX, type OperationId, operation } from '../../src/schema/api/operations.ts'
import type { Answered } from './scene.ts'

interface Response {
  readonly content?: Readonly<Record<string, { readonly schema: object }>>
  readonly headers?: Readonly<Record<string, unknown>>
}

/** The document as a client reads it, references and all; zod would make a RegExp without `u` of a pattern with `\p`. */
const document = JSON.parse(
  JSON.stringify(openApi('0.0.0')).replaceAll('#/components/schemas/', '#/$defs/'),
  (name, value: unknown) => (name === 'pattern' && String(value).includes('\\p') ? undefined : value),
) as {
  readonly paths: Record<string, Record<string, { readonly responses: Record<string, Response> }>>
  readonly components: { readonly schemas: Record<string, object> }
}

const validators = new Map<object, z.ZodType>()

function validatorOf(schema: object): z.ZodType {
  let validator = validators.get(schema)
  if (!validator) {
    const whole = { ...schema, $defs: document.components.schemas }
    validator = z.fromJSONSchema(whole as Parameters<typeof z.fromJSONSchema>[0])
    validators.set(schema, validator)
  }
  return validator
}

/** What an answer says that the document does not; empty where it is as documented. */
export function undocumented(id: OperationId, answered: Answered): string[] {
  const { method, path } = operation(id)
  const responses = document.paths[`${API_PREFIX}${path}`]?.[method.toLowerCase()]?.responses
  const response = responses?.[answered.status]
  if (!response) return [`${id}: the status ${answered.status} is not documented`]
  const missing = Object.keys(response.headers ?? {}).filter(name => !answered.headers.has(name))
  const faults = missing.map(name => `${id}: the header ${name} is missing`)
  const [type, content] = Object.entries(response.content ?? {})[0] ?? []
  if (answered.headers.get('content-type') !== (type ?? null))
    faults.push(`${id}: the content type is ${answered.headers.get('content-type')}, not ${type}`)
  if (content && type !== 'text/event-stream') {
    const { error } = validatorOf(content.schema).safeParse(answered.body)
    if (error) faults.push(`${id}: ${z.prettifyError(error)}`)
  }
  if (answered.status >= 400) {
    const code = faultsOf(id).find(fault => fault === answered.body.code)
    if (!code || API_FAULTS[code].status !== answered.status)
      faults.push(`${id}: the code ${answered.body.code} is not documented for ${answered.status}`)
  }
  return faults
}
