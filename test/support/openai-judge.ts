import { readFileSync } from 'node:fs'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'

/** A request as it is sent, whole. */
export interface JudgedRequest {
  readonly method: string
  /** Without a query. */
  readonly path: string
  readonly contentType: string
  readonly body: Uint8Array
}

interface Published {
  readonly paths: Readonly<Record<string, Readonly<Record<string, object>>>>
}

const PUBLISHED = JSON.parse(
  readFileSync(new URL('openai-schemas/schemas.json', import.meta.url), 'utf8'),
) as Published

const PREFIX = '/v1'
const FORM_TYPE = 'multipart/form-data'

/** The paths whose bodies are judged, such as `/v1/responses`. */
export const JUDGED_PATHS: readonly string[] = Object.keys(PUBLISHED.paths).map(path => PREFIX + path)

const validators = new Map<string, ValidateFunction>()

const options = { strict: false, allErrors: true, validateFormats: false } as const
const asSent = new Ajv2020(options).addSchema(PUBLISHED)
/** Fields of a form are text: `2` is a number and `true` a boolean where the schema wants one. */
const asText = new Ajv2020({ ...options, coerceTypes: true }).addSchema(PUBLISHED)

/**
 * What OpenAI's published document says against a request: the lines are empty for a valid one, undefined for a path
 * that it does not have. Fields that it does not name count as errors too.
 */
export async function judge(request: JudgedRequest): Promise<readonly string[] | undefined> {
  const path = request.path.slice(PREFIX.length)
  const bodies = Object.hasOwn(PUBLISHED.paths, path) ? PUBLISHED.paths[path] : undefined
  if (request.method !== 'POST' || !bodies) return undefined
  const { contentType } = request
  const [type = ''] = contentType.split(';')
  if (!Object.hasOwn(bodies, type)) return [`the content type ${contentType} is not one of ${path}`]
  const isForm = type === FORM_TYPE
  const validate = validatorOf(path, type)
  const body = isForm
    ? await formFields(request.body, contentType)
    : (JSON.parse(Buffer.from(request.body).toString()) as unknown)
  if (validate(body)) return []
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  )
}

function validatorOf(path: string, type: string): ValidateFunction {
  const pointer = [path, type].map(name => name.replaceAll('/', '~1')).join('/')
  const known = validators.get(pointer)
  if (known) return known
  const schemas = type === FORM_TYPE ? asText : asSent
  const made = schemas.compile({ $ref: `openai.json#/paths/${pointer}`, unevaluatedProperties: false })
  validators.set(pointer, made)
  return made
}

/** Files become texts, `name[]` and repeated names become lists. */
async function formFields(body: Uint8Array, contentType: string): Promise<Record<string, unknown>> {
  const form = await new Response(body, { headers: { 'content-type': contentType } }).formData()
  const fields: Record<string, unknown> = {}
  for (const name of new Set(form.keys())) {
    const values = form.getAll(name).map(value => (typeof value === 'string' ? value : value.name))
    const isList = name.endsWith('[]')
    fields[isList ? name.slice(0, -2) : name] = isList || values.length > 1 ? values : values[0]
  }
  return fields
}
