import { document, setName } from '../schema/document.ts'
import { bindingName, type Kind } from '../schema/kinds.ts'
import { modelName, name as resourceName } from '../schema/scalars.ts'
import { check } from './check.ts'
import { didYouMean } from './did-you-mean.ts'
import { type Issue, kindOf, listed } from './issues.ts'
import type { MapNode, Node } from './node.ts'
import { type Path, shorten } from './path.ts'
import type { Report } from './report.ts'
import type { Span } from './source.ts'

/** A resource as declared in a file, not validated yet. */
export interface Declaration {
  readonly kind: Kind
  /** Absent if unreadable: a binding with an endpoint that is not text. */
  readonly name?: string
  readonly node: Node
  /** The key, or the start of the list item, of the declaration. */
  readonly home: Span
  readonly path: Path
  /** For an inline binding: the name of its publication. */
  readonly publication?: string
}

/** The declarations of one file. */
export interface Declared {
  readonly declarations: readonly Declaration[]
  readonly set?: { readonly name: string; readonly span: Span }
}

const ROOT_FIELDS = Object.keys(document.shape)
const SECTIONS = { nodes: 'node', endpoints: 'endpoint', tenants: 'tenant', keys: 'key' } as const

/** Splits a file into its resource declarations, and reports errors at the root. */
export function extractDeclarations(root: Node, report: Report): Declared {
  if (root.kind !== 'map') {
    const text = `expected a map with \`version: 1\` and sections such as \`endpoints\`, got ${kindOf(root)}`
    report.add({ code: 'wrong_type', span: root.span, text })
    return { declarations: [] }
  }
  checkVersion(root, report)
  reportUnknown(root, report)
  const declarations: Declaration[] = []
  const settings = root.entries.get('settings')
  if (settings) {
    const path = ['settings']
    declarations.push({ kind: 'settings', name: 'settings', node: settings.value, home: settings.key, path })
  }
  for (const [section, kind] of Object.entries(SECTIONS)) {
    for (const { name, node, home } of named(root, section, resourceName, report)) {
      declarations.push({ kind, name, node, home, path: [section, name] })
    }
  }
  for (const { name, node, home } of named(root, 'publications', modelName, report)) {
    declarations.push(...publication(name, node, home, report))
  }
  for (const [index, node] of items(root, ['bindings'], report).entries()) {
    const path = ['bindings', index]
    declarations.push({ kind: 'binding', ...nameOfBinding(node), node, home: node.span, path })
  }
  const set = readSet(root, report)
  return { declarations, ...(set && { set }) }
}

function checkVersion(root: MapNode, report: Report): void {
  const version = root.entries.get('version')?.value
  if (version === undefined) {
    const span = { ...root.span, end: root.span.start + 1 }
    report.add({
      code: 'missing_field',
      span,
      text: '`version` is missing',
      hint: 'write `version: 1` at the root',
    })
    return
  }
  if (version.kind === 'broken') {
    for (const finding of version.findings) report.add({ ...finding, path: ['version'] })
    return
  }
  if (version.kind === 'scalar' && version.value === 1) return
  const isText = version.kind === 'scalar' && version.value === '1'
  report.add({
    code: 'unknown_version',
    span: version.span,
    path: ['version'],
    text: 'this gw reads version 1 only',
    ...(isText && { hint: 'remove the quotes: `version: 1`' }),
  })
}

/** Sections of other gateways. */
const KNOWN_ELSEWHERE: ReadonlyMap<string, string> = new Map([['models', 'publications']])

function reportUnknown(root: MapNode, report: Report): void {
  for (const [field, { key }] of root.entries) {
    if (field.startsWith('x-') || ROOT_FIELDS.includes(field)) continue
    const near = KNOWN_ELSEWHERE.get(field) ?? didYouMean(field, ROOT_FIELDS)
    report.add({
      code: 'unknown_field',
      span: key,
      text: `unknown field \`${shorten(field)}\` at the root`,
      hint:
        near === undefined
          ? `the fields here are ${listed(ROOT_FIELDS)}, \`x-…\``
          : `did you mean \`${near}\`?`,
    })
  }
}

interface NamedNode {
  readonly name: string
  readonly node: Node
  readonly home: Span
}

interface NameSchema {
  safeParse(
    value: unknown,
  ): { readonly success: true } | { readonly success: false; readonly error: { readonly issues: unknown } }
}

/** The entries of a section that maps names to resources. */
function named(root: MapNode, section: string, schema: NameSchema, report: Report): NamedNode[] {
  const node = root.entries.get(section)?.value
  if (node === undefined) return []
  if (node.kind !== 'map') {
    reportKind(node, 'a map by name', [section], report)
    return []
  }
  return [...node.entries].map(([name, { key, value }]) => {
    const result = schema.safeParse(name)
    if (!result.success) {
      const [issue] = result.error.issues as Issue[]
      const text = `\`${shorten(name)}\` cannot be a name: ${issue?.message ?? 'malformed'}`
      report.add({ code: 'value_out_of_range', span: key, path: [section], text })
    }
    return { name, node: value, home: key }
  })
}

/** A publication, and its inline bindings. */
function publication(name: string, node: Node, home: Span, report: Report): Declaration[] {
  const path = ['publications', name]
  if (node.kind !== 'map') return [{ kind: 'publication', name, node, home, path }]
  const own = new Map([...node.entries].filter(([field]) => field !== 'bindings'))
  const bindings = items(node, [...path, 'bindings'], report).map((binding, index): Declaration => {
    const endpoint = textAt(binding, 'endpoint')
    return {
      kind: 'binding',
      ...(endpoint !== undefined && { name: bindingName(name, endpoint) }),
      node: binding,
      home: binding.span,
      path: [...path, 'bindings', index],
      publication: name,
    }
  })
  return [{ kind: 'publication', name, node: { ...node, entries: own }, home, path }, ...bindings]
}

/** The items of the list at `path`. */
function items(parent: MapNode, path: Path, report: Report): readonly Node[] {
  const node = parent.entries.get('bindings')?.value
  if (node === undefined) return []
  if (node.kind === 'list') return node.items
  reportKind(node, 'a list of bindings, such as `- endpoint: NAME`', path, report)
  return []
}

function reportKind(node: Node, wanted: string, path: Path, report: Report): void {
  if (node.kind === 'broken') {
    for (const finding of node.findings) report.add({ ...finding, path })
    return
  }
  const isNothing = node.kind === 'scalar' && node.value === null
  report.add({
    code: 'wrong_type',
    span: node.span,
    path,
    text: `expected ${wanted}, got ${kindOf(node)}`,
    ...(isNothing && { hint: 'add content below it, or remove the line' }),
  })
}

function nameOfBinding(node: Node): { name?: string } {
  const [publication, endpoint] = [textAt(node, 'publication'), textAt(node, 'endpoint')]
  if (publication === undefined || endpoint === undefined) return {}
  return { name: bindingName(publication, endpoint) }
}

function textAt(node: Node, field: string): string | undefined {
  const value = node.kind === 'map' ? node.entries.get(field)?.value : undefined
  return value?.kind === 'scalar' && typeof value.value === 'string' ? value.value : undefined
}

function readSet(root: MapNode, report: Report): { name: string; span: Span } | undefined {
  const entry = root.entries.get('set')
  if (entry === undefined) return undefined
  const context = { node: entry.value, path: ['set'], home: entry.key }
  const name = check(setName, context, report)
  return name === undefined ? undefined : { name, span: entry.value.span }
}
