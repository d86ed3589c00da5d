import { z } from 'zod'
import { testsDocument } from './config-test.ts'
import { document } from './document.ts'
import type { Kind } from './kinds.ts'

/** JSON Schema as plain data. */
export interface JsonSchema {
  [keyword: string]: unknown
}

const INTERPOLATED = 'interpolated'

/**
 * The JSON Schema (draft-07) of a configuration file, for editors. Derived from the zod schema, plus two rules that zod
 * cannot express: root keys `x-*` are free, and any scalar may be an interpolation instead.
 */
export function configSchema(): JsonSchema {
  return fileSchema(document, 'gw configuration')
}

/** The same for a file of tests. */
export function testsSchema(): JsonSchema {
  return fileSchema(testsDocument, 'gw configuration tests')
}

function fileSchema(file: z.ZodType, title: string): JsonSchema {
  const schema = z.toJSONSchema(file, { target: 'draft-7', io: 'input' }) as JsonSchema
  const definitions = schema['definitions'] as Record<string, JsonSchema>
  return {
    $schema: schema['$schema'],
    title,
    ...interpolable(schema),
    patternProperties: { '^x-': { description: 'Ignored; a place for anchors.' } },
    definitions: {
      ...Object.fromEntries(
        Object.entries(definitions)
          .filter(([name]) => schemaIsUsed(name, schema))
          .map(([name, definition]) => [name, interpolable(definition)]),
      ),
      [INTERPOLATED]: {
        type: 'string',
        pattern: '\\$\\{GW_[A-Za-z0-9_]*(:-[^}]*)?\\}',
        description: '`${GW_NAME}` or `${GW_NAME:-default}`, replaced when the file is loaded.',
      },
    },
  }
}

/** The JSON Schema of one resource of a kind in a file: a value below `endpoints`, an element of `bindings`. */
export function kindSchema(kind: Kind): JsonSchema {
  const whole = configSchema()
  const definitions = whole['definitions'] as Record<string, JsonSchema>
  const name = kind === 'publication' ? 'publication_with_bindings' : kind
  const own = { ...definitions[name] }
  const needed = new Map<string, JsonSchema>()
  const need = (schema: JsonSchema): void => {
    for (const [, other = ''] of JSON.stringify(schema).matchAll(/"#\/definitions\/([^"]+)"/g)) {
      const definition = definitions[other]
      if (definition === undefined || needed.has(other)) continue
      needed.set(other, definition)
      need(definition)
    }
  }
  need(own)
  return { $schema: whole['$schema'], title: `gw ${kind}`, ...own, definitions: Object.fromEntries(needed) }
}

/** Omits unused definitions (zod lists every schema that has an id). */
function schemaIsUsed(name: string, schema: JsonSchema): boolean {
  return JSON.stringify(schema).includes(`"#/definitions/${name}"`)
}

/** The same schema, but every scalar that restricts its text may also be an interpolation. */
function interpolable(schema: JsonSchema): JsonSchema {
  if (isNarrowScalar(schema)) {
    const { description, default: initial, ...rest } = schema
    return {
      ...(description !== undefined && { description }),
      ...(initial !== undefined && { default: initial }),
      anyOf: [rest, { $ref: `#/definitions/${INTERPOLATED}` }],
    }
  }
  const copy: JsonSchema = {}
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === 'properties') copy[keyword] = mapValues(value as Record<string, JsonSchema>, interpolable)
    else if (keyword === 'items' || keyword === 'additionalProperties') {
      copy[keyword] = typeof value === 'object' ? interpolable(value as JsonSchema) : value
    } else if (keyword === 'anyOf') {
      copy[keyword] = (value as JsonSchema[]).map(each => (isShape(each) ? interpolable(each) : each))
    } else if (keyword !== 'definitions' && keyword !== '$schema') copy[keyword] = value
  }
  return copy
}

/** One of several shapes; in a union of scalars one accepts any text. */
function isShape(schema: JsonSchema): boolean {
  return schema['type'] === 'object' || schema['type'] === 'array'
}

/** A scalar that accepts less than any text. Not `version`: it decides how the rest is read. */
function isNarrowScalar(schema: JsonSchema): boolean {
  if ('const' in schema) return false
  const type = schema['type']
  if (type === 'boolean' || type === 'integer' || type === 'number') return true
  return type === 'string' && ('pattern' in schema || 'enum' in schema || 'format' in schema)
}

function mapValues(
  record: Record<string, JsonSchema>,
  change: (value: JsonSchema) => JsonSchema,
): Record<string, JsonSchema> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]))
}
