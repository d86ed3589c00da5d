import { z } from 'zod'
import type { Json } from '../kinds.ts'
import { money } from '../scalars.ts'

/** A JSON object. */
export type Fields = { readonly [field: string]: Json }
type Shape = Readonly<Record<string, z.ZodType>>

/** The parts of a schema's definition that this module uses. */
interface Definition {
  readonly type: string
  readonly innerType?: z.ZodType
  readonly shape?: Shape
  readonly in?: z.ZodType
  readonly element?: z.ZodType
  readonly keyType?: z.ZodType
  readonly valueType?: z.ZodType
  readonly options?: readonly z.ZodType[]
}

/** Wrappers around a field's own schema that make it optional. */
const WRAPPERS = new Set(['optional', 'default', 'prefault'])

/**
 * A change of a resource, as a JSON merge patch (RFC 7396): any of its fields, nested objects member by member, null to
 * reset a field to its default. The resource's own schema then checks the result, including rules across fields.
 */
export function patchOf(shape: Shape): z.ZodType<Fields, Fields> {
  return patchObject(shape) as z.ZodType as z.ZodType<Fields, Fields>
}

/** A resource as an answer shows it: in its canonical text form, which includes every field with a default. */
export function shownShape(shape: Shape): Record<string, z.ZodType> {
  return Object.fromEntries(
    Object.entries(shape).map(([field, schema]) => {
      const { bare, isOptional } = unwrapped(schema)
      const shown = described(shownValue(bare), schema)
      return [field, isOptional ? shown.optional() : shown]
    }),
  )
}

function patchObject(shape: Shape): z.ZodObject {
  return z.strictObject(
    Object.fromEntries(
      Object.entries(shape).map(([field, schema]) => {
        const { bare, isWrapped } = unwrapped(schema)
        const value = patchValue(bare)
        return [field, described(isWrapped ? value.nullable() : value, schema).optional()]
      }),
    ),
  )
}

function patchValue(schema: z.ZodType): z.ZodType {
  const inner = definition(schema)
  if (inner.shape) return patchObject(inner.shape)
  if (inner.options) return z.union(inner.options.map(patchValue))
  return inner.type === 'record' ? patchRecord(inner) : schema
}

function patchRecord({ keyType, valueType }: Definition): z.ZodType {
  return z.record((keyType ?? z.string()) as z.ZodString, (valueType ?? z.unknown()).nullable())
}

function shownValue(schema: z.ZodType): z.ZodType {
  const { type, shape, element, keyType, valueType, options, in: wire } = definition(schema)
  if (schema === money) return z.string().describe('An exact decimal.')
  if (type === 'pipe') return wire ?? schema
  if (shape) return z.strictObject(shownShape(shape))
  if (options) return z.union(options.map(shownValue))
  if (element) return z.array(shownValue(element))
  if (valueType) return z.record((keyType ?? z.string()) as z.ZodString, shownValue(valueType))
  return schema
}

function unwrapped(schema: z.ZodType): { bare: z.ZodType; isOptional: boolean; isWrapped: boolean } {
  let bare = schema
  let isOptional = false
  let isWrapped = false
  for (;;) {
    const { type, innerType } = definition(bare)
    if (!WRAPPERS.has(type) || !innerType) return { bare, isOptional, isWrapped }
    isWrapped = true
    isOptional ||= type === 'optional'
    bare = innerType
  }
}

function described<Schema extends z.ZodType>(schema: Schema, original: z.ZodType): Schema {
  const { description } = original
  return description === undefined ? schema : schema.describe(description)
}

function definition(schema: z.ZodType): Definition {
  return schema.def
}
