import { secretReference } from '../schema/scalars.ts'
import type { Path } from './path.ts'

/** A zod schema, as other files need it. */
export interface Described {
  readonly def: { readonly type: string }
}

/** The schema internals that describe fields. */
interface Inspected extends Described {
  readonly def: {
    readonly type: string
    readonly shape?: Readonly<Record<string, Inspected>>
    readonly innerType?: Inspected
    readonly element?: Inspected
    readonly valueType?: Inspected
    readonly in?: Inspected
    readonly options?: readonly Inspected[]
  }
  meta(): { readonly examples?: unknown } | undefined
}

/** The schema of the value at `path`, without its defaults; `undefined` for an unknown path. */
function schemaAt(schema: Described, path: Path): Inspected | undefined {
  let at: Inspected | undefined = bare(schema as Inspected)
  for (const step of path) {
    const next: Inspected | undefined = at && below(at, step)
    at = next && bare(next)
  }
  return at
}

function below({ def }: Inspected, step: string | number): Inspected | undefined {
  // In a union, the option that supports this step.
  for (const option of def.options ?? []) {
    const inner = bare(option)
    const fits = typeof step === 'number' ? inner.def.element : inner.def.shape
    if (fits !== undefined) return below(inner, step)
  }
  if (def.shape === undefined) return def.valueType ?? def.element
  return Object.hasOwn(def.shape, step) ? def.shape[step] : undefined
}

/** The names of the fields at `path`; empty if any name is allowed. */
export function fieldsAt(schema: Described, path: Path): string[] {
  const { shape, options = [] } = schemaAt(schema, path)?.def ?? {}
  return Object.keys(shape ?? options.find(option => option.def.shape)?.def.shape ?? {})
}

/** The fields one level below `path`, such as `limits.rpm`, by their last name. */
export function fieldsBelow(schema: Described, path: Path): Map<string, string> {
  const below = new Map<string, string>()
  for (const field of fieldsAt(schema, path)) {
    for (const inner of fieldsAt(schema, [...path, field])) below.set(inner, `${field}.${inner}`)
  }
  return below
}

/** Whether the value at `path` is a secret reference. */
export function isSecretReference(schema: Described, path: Path): boolean {
  return schemaAt(schema, path) === (secretReference as Described as Inspected)
}

/** An example value for `path` from the schema, if there is one. */
export function exampleAt(schema: Described, path: Path): string | undefined {
  const at = schemaAt(schema, path)
  const examples = (at?.def.in ?? at)?.meta()?.examples
  const [first] = Array.isArray(examples) ? examples : []
  return typeof first === 'string' ? first : undefined
}

const WRAPPERS = new Set(['optional', 'default', 'prefault', 'nullable', 'readonly'])

function bare(schema: Inspected): Inspected {
  const { type, innerType } = schema.def
  return innerType !== undefined && WRAPPERS.has(type) ? bare(innerType) : schema
}
