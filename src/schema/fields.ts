import type { Kind } from './kinds.ts'
import { configSchema, type JsonSchema } from './publish.ts'

/** A field of the configuration, for `gw explain`. */
export interface Field {
  /** Starts with the kind: `endpoint.timeouts.idle`. The elements of a list have the path of the list. */
  readonly path: string
  readonly description: string
  /** In words: `whole number`, `duration, such as 30s`, `one of openai, anthropic`. */
  readonly type: string
  /** The default as YAML; absent if there is none. */
  readonly initial?: string
  readonly required: boolean
  /** The paths of the fields inside it. */
  readonly below: readonly string[]
}

/** The kind of resources in each section of a file. */
const SECTIONS: Readonly<Record<string, Kind>> = {
  settings: 'settings',
  nodes: 'node',
  endpoints: 'endpoint',
  publications: 'publication',
  bindings: 'binding',
  tenants: 'tenant',
  keys: 'key',
}

/** Every field of every kind, and of the root of a file, by path. Derived only from the zod schema. */
export function allFields(): ReadonlyMap<string, Field> {
  const root = configSchema()
  const fields = new Map<string, Field>()
  const walk = (path: string, schema: JsonSchema, required: boolean): void => {
    const shape = resolved(root, schema)
    const parts = partsOf(root, shape)
    const below = Object.keys(parts.properties).map(name => `${path}.${name}`)
    fields.set(path, {
      path,
      description: textOf(schema['description']) ?? textOf(shape['description']) ?? '',
      type: typeInWords(root, shape),
      ...initialOf(schema),
      required,
      below,
    })
    for (const [name, inner] of Object.entries(parts.properties)) {
      walk(`${path}.${name}`, inner, parts.required.includes(name))
    }
  }
  for (const [name, schema] of Object.entries(propertiesOf(root))) {
    const kind = SECTIONS[name]
    if (kind === undefined) walk(name, schema, requiredOf(root).includes(name))
    else walk(kind, elementOf(root, schema), false)
  }
  return fields
}

/**
 * The field of a path, either as in a file (`endpoints.openai.timeouts.idle`, `keys.*.budget`, `bindings[0].weight`) or
 * starting with its kind (`endpoint.timeouts.idle`).
 */
export function fieldAt(path: string, fields: ReadonlyMap<string, Field>): Field | undefined {
  const words = path.split(/[.[\]]+/).filter(word => word !== '' && !/^\d+$/.test(word))
  const [first = '', ...rest] = words
  const kind = SECTIONS[first] ?? first
  const exact = fields.get([kind, ...rest].join('.'))
  if (exact || kind === first) return exact
  // The name of a resource may contain dots: try names of increasing length.
  for (let from = 1; from < rest.length; from++) {
    const field = fields.get([kind, ...rest.slice(from)].join('.'))
    if (field) return field
  }
  return rest.length === 1 ? fields.get(kind) : undefined
}

interface Parts {
  readonly properties: Readonly<Record<string, JsonSchema>>
  readonly required: readonly string[]
}

/** The members of a map, of the elements of a list, or of all alternatives of a field. */
function partsOf(root: JsonSchema, schema: JsonSchema): Parts {
  const forms = formsOf(root, schema)
  if (forms.length > 1) {
    const parts = forms.map(form => partsOf(root, form))
    return {
      properties: Object.assign({}, ...parts.map(each => each.properties)) as Parts['properties'],
      required: [],
    }
  }
  const [only = schema] = forms
  const items = only['items']
  if (isSchema(items)) return partsOf(root, resolved(root, items))
  return { properties: propertiesOf(only), required: requiredOf(only) }
}

function propertiesOf(schema: JsonSchema): Readonly<Record<string, JsonSchema>> {
  return (schema['properties'] ?? {}) as Record<string, JsonSchema>
}

function requiredOf(schema: JsonSchema): readonly string[] {
  return (schema['required'] ?? []) as string[]
}

/** The content of a section: the values of a map, the elements of a list, or the section itself. */
function elementOf(root: JsonSchema, section: JsonSchema): JsonSchema {
  const shape = resolved(root, section)
  const inner = shape['items'] ?? shape['additionalProperties']
  return isSchema(inner) ? resolved(root, inner) : shape
}

/** Follows `$ref`, also as the only element of an `allOf`. */
function resolved(root: JsonSchema, schema: JsonSchema): JsonSchema {
  const all = schema['allOf']
  if (Array.isArray(all) && isSchema(all[0])) return resolved(root, all[0])
  const reference = schema['$ref']
  if (typeof reference !== 'string') return schema
  const definitions = root['definitions'] as Record<string, JsonSchema>
  return definitions[reference.slice('#/definitions/'.length)] ?? schema
}

/** The alternatives of a value, without interpolation, which any scalar accepts. */
function formsOf(root: JsonSchema, schema: JsonSchema): readonly JsonSchema[] {
  const any = schema['anyOf']
  if (!Array.isArray(any)) return [schema]
  return any
    .filter(isSchema)
    .filter(form => form['$ref'] !== '#/definitions/interpolated')
    .map(form => resolved(root, form))
}

function typeInWords(root: JsonSchema, schema: JsonSchema): string {
  const forms = formsOf(root, schema)
  if (forms.length > 1) {
    const words = [...new Set(forms.map(form => typeInWords(root, form)))]
    return words.join(words.every(word => /^\w+$/.test(word)) ? ' or ' : ', or ') + examplesInWords(schema)
  }
  const [only = schema] = forms
  return scalarInWords(only) ?? listInWords(root, only) ?? mapInWords(root, only)
}

function listInWords(root: JsonSchema, { items }: JsonSchema): string | undefined {
  if (!isSchema(items)) return undefined
  return `list of: ${typeInWords(root, resolved(root, items))}`
}

function mapInWords(root: JsonSchema, { properties, additionalProperties: values }: JsonSchema): string {
  if (properties !== undefined || !isSchema(values)) return 'map'
  return `map of names to: ${typeInWords(root, resolved(root, values))}`
}

function scalarInWords(schema: JsonSchema): string | undefined {
  const { type, enum: choices, const: only, minimum, maximum, maxLength } = schema
  if (only !== undefined) return JSON.stringify(only)
  if (Array.isArray(choices)) return `one of ${choices.join(', ')}`
  const such = examplesInWords(schema)
  if (type === 'boolean') return 'true or false'
  if (Array.isArray(type)) return `text or number${such}`
  if (type === 'number') return `number${such}`
  if (type === 'integer') return `whole number${rangeInWords(minimum, maximum)}${such}`
  if (type === 'string') {
    return typeof maxLength === 'number' ? `text of at most ${maxLength} characters${such}` : `text${such}`
  }
  return undefined
}

function examplesInWords({ examples }: JsonSchema): string {
  return Array.isArray(examples) ? `, such as ${examples.join(', ')}` : ''
}

function rangeInWords(minimum: unknown, maximum: unknown): string {
  const low = typeof minimum === 'number' && minimum > Number.MIN_SAFE_INTEGER ? minimum : undefined
  const high = typeof maximum === 'number' && maximum < Number.MAX_SAFE_INTEGER ? maximum : undefined
  if (low === undefined) return high === undefined ? '' : ` up to ${high}`
  return high === undefined ? ` from ${low}` : ` from ${low} to ${high}`
}

/** An empty map is omitted: its fields show their own defaults. */
function initialOf(schema: JsonSchema): { initial?: string } {
  const initial = schema['default']
  if (initial === undefined) return {}
  const text = typeof initial === 'string' ? initial : JSON.stringify(initial)
  return text === '{}' ? {} : { initial: text }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
