import { Document, isScalar, Scalar, visit } from 'yaml'
import {
  type CanonicalSpec,
  decode,
  encode,
  isFields,
  type Json,
  type Kind,
  type Resource,
} from '../schema/kinds.ts'

const SECTIONS = [
  ['node', 'nodes'],
  ['endpoint', 'endpoints'],
  ['publication', 'publications'],
  ['tenant', 'tenants'],
  ['key', 'keys'],
] as const
/** Text that needs no quotes in most cases; the YAML writer decides the rest. */
const SIMPLE = /^(?:[A-Za-z][A-Za-z0-9_./:@-]*|\d+[A-Za-z]+)$/
/** Booleans of YAML 1.1: quoted, because other tools may read this file. */
const BOOLEAN_ELSEWHERE = /^(?:y|yes|n|no|on|off)$/i

type Fields = Record<string, Json>

/**
 * Renders resources as one configuration file that `load` reads back to the same resources. Fields with their default
 * are left out. A binding is rendered inside its publication, or separately if that is missing.
 */
export function render(set: string, resources: readonly Resource[]): string {
  const root = new Map<string, unknown>([['version', 1]])
  if (set !== 'default') root.set('set', set)
  const inline = bindingsByPublication(resources)
  const own = new Set(resources.flatMap(({ kind, name }) => (kind === 'publication' ? [name] : [])))
  for (const { kind, spec } of resources) {
    if (kind === 'settings') root.set('settings', declaredFields(kind, spec))
  }
  for (const [kind, section] of SECTIONS) {
    const named = new Map<string, Fields>()
    for (const resource of resources) {
      if (resource.kind !== kind) continue
      const fields = declaredFields(kind, resource.spec)
      const bindings = kind === 'publication' ? inline.get(resource.name) : undefined
      named.set(resource.name, bindings ? { ...fields, bindings: bindings.map(withoutPublication) } : fields)
    }
    if (named.size > 0) root.set(section, named)
  }
  const separate = [...inline].flatMap(([publication, bindings]) => (own.has(publication) ? [] : bindings))
  if (separate.length > 0) root.set('bindings', separate)
  return write(root)
}

function bindingsByPublication(resources: readonly Resource[]): Map<string, Fields[]> {
  const inline = new Map<string, Fields[]>()
  for (const { kind, name, spec } of resources) {
    if (kind !== 'binding') continue
    // The name of a binding is its publication, a space, and its endpoint (`bindingName`).
    const publication = name.slice(0, name.indexOf(' '))
    const bindings = inline.get(publication) ?? []
    bindings.push(declaredFields(kind, spec))
    inline.set(publication, bindings)
  }
  return inline
}

export function withoutPublication(binding: Fields): Fields {
  return Object.fromEntries(Object.entries(binding).filter(([field]) => field !== 'publication'))
}

/** The required fields of each kind; all others have defaults. */
const REQUIRED: Record<Kind, readonly string[]> = {
  settings: [],
  node: [],
  endpoint: ['protocol', 'base_url', 'nodes', 'served_model'],
  publication: [],
  binding: ['publication', 'endpoint'],
  tenant: [],
  key: ['kind', 'tenant'],
}

/** The fields as a file has them: without those that have their default. */
export function declaredFields(kind: Kind, spec: CanonicalSpec): Fields {
  const required = Object.fromEntries(
    REQUIRED[kind].flatMap(field => {
      const value = spec[field]
      return value === undefined ? [] : [[field, value] as const]
    }),
  )
  const defaults = encode(kind, decode(kind, required))
  return { ...required, ...differing(spec, defaults, REQUIRED[kind]) }
}

/** The fields of `spec` that differ from `defaults`, including nested maps. */
function differing(spec: CanonicalSpec, defaults: CanonicalSpec, omit: readonly string[] = []): Fields {
  const kept: Fields = {}
  for (const [field, value] of Object.entries(spec)) {
    const preset = defaults[field]
    if (omit.includes(field) || JSON.stringify(value) === JSON.stringify(preset)) continue
    kept[field] = isFields(value) && isFields(preset) ? differing(value, preset) : value
  }
  return kept
}

/** A value as YAML, in the style of this project. */
export function write(value: unknown): string {
  const document = new Document(value, { version: '1.2', schema: 'core', aliasDuplicateObjects: false })
  visit(document, {
    Scalar(at, node) {
      if (typeof node.value !== 'string') return
      if (!SIMPLE.test(node.value) || BOOLEAN_ELSEWHERE.test(node.value)) node.type = Scalar.QUOTE_DOUBLE
      // Only values are interpolated on reading.
      if (at !== 'key') node.value = node.value.replaceAll('$', '$$$$')
    },
    Map(_, node) {
      if (node.items.length === 0) node.flow = true
    },
    Seq(_, node) {
      if (node.items.every(isScalar)) node.flow = true
    },
  })
  return document.toString({ lineWidth: 0, flowCollectionPadding: false })
}
