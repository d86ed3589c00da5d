import { modelPattern } from '../schema/scalars.ts'
import { didYouMean } from './did-you-mean.ts'
import type { Declaration } from './extract-declarations.ts'
import type { Node, ScalarNode } from './node.ts'
import { shorten } from './path.ts'
import type { Report } from './report.ts'
import type { Span } from './source.ts'

/** Names that may exist although the tree does not declare them. */
export interface ExistingNames {
  /** `kind/name` of the resources outside of the tree. */
  readonly known: ReadonlySet<string>
  /** Whether an unreadable file may declare this name. */
  mayDeclare(name: string): boolean
}

/** The limit of suggestions: each is a comparison with every name. */
const SUGGESTIONS = 100
const GLOB = /[*?]/

/** Reports references without a target, duplicate names, and publications without an endpoint. */
export function checkReferences(
  declarations: readonly Declaration[],
  existing: ExistingNames,
  report: Report,
): void {
  reportDuplicates(declarations, report)
  reportSharedHashes(declarations, report)
  const references = new References(declarations, existing, report)
  for (const declaration of declarations) {
    if (declaration.kind === 'endpoint') references.checkNodes(declaration)
    else if (declaration.kind === 'binding') {
      references.check(declaration, 'endpoint', 'endpoint')
      references.check(declaration, 'publication', 'publication')
    } else if (declaration.kind === 'key') {
      references.check(declaration, 'tenant', 'tenant')
      references.checkModels(declaration, 'models')
    } else if (declaration.kind === 'tenant') {
      references.checkModels(declaration, 'models')
      references.checkModels(declaration, 'banned_models')
    }
  }
  references.checkBound()
  references.checkPriced()
}

function reportDuplicates(declarations: readonly Declaration[], report: Report): void {
  const first = new Map<string, Span>()
  for (const { kind, name, home } of declarations) {
    if (name === undefined) continue
    const other = first.get(`${kind}/${name}`)
    if (other === undefined) {
      first.set(`${kind}/${name}`, home)
      continue
    }
    const { file, line, column } = other.source.placeAt(other.start)
    const label = kind === 'settings' ? '`settings`' : `the ${kind} \`${shorten(name)}\``
    report.add({
      code: kind === 'settings' ? 'duplicate_settings' : 'duplicate_name',
      span: home,
      other,
      text: `${label} is already at ${file}:${line}:${column}`,
    })
  }
}

/** A secret must identify one key: with two, the effective policy would be random. */
function reportSharedHashes(declarations: readonly Declaration[], report: Report): void {
  const first = new Map<string, { home: Span; name: string }>()
  for (const { kind, name, node, path } of declarations) {
    const hash = kind === 'key' ? scalarAt(node, 'hash') : undefined
    if (hash === undefined || name === undefined || typeof hash.value !== 'string') continue
    const other = first.get(hash.value)
    if (other === undefined) first.set(hash.value, { home: hash.span, name })
    else if (other.name !== name) {
      const text = `the key \`${shorten(other.name)}\` has the same hash`
      report.add({
        code: 'duplicate_secret',
        span: hash.span,
        other: other.home,
        path: [...path, 'hash'],
        text,
      })
    }
  }
}

class References {
  readonly #names = new Map<string, Set<string>>()
  readonly #declarations: readonly Declaration[]
  readonly #existing: ExistingNames
  readonly #report: Report
  #suggestions = 0

  constructor(declarations: readonly Declaration[], existing: ExistingNames, report: Report) {
    this.#declarations = declarations
    this.#existing = existing
    this.#report = report
    for (const { kind, name } of declarations) if (name !== undefined) this.#add(kind, name)
    for (const known of existing.known) {
      const slash = known.indexOf('/')
      this.#add(known.slice(0, slash), known.slice(slash + 1))
    }
  }

  #add(kind: string, name: string): void {
    const names = this.#names.get(kind)
    if (names) names.add(name)
    else this.#names.set(kind, new Set([name]))
  }

  #exists(kind: string, name: string): boolean {
    return this.#names.get(kind)?.has(name) === true || this.#existing.mayDeclare(name)
  }

  #hint(kind: string, scalar: ScalarNode): { hint?: string } {
    const names = this.#names.get(kind)
    if (names === undefined) return { hint: `no ${kind} is declared at all` }
    this.#suggestions++
    if (scalar.interpolated || this.#suggestions > SUGGESTIONS) return {}
    const near = didYouMean(scalar.written, names)
    return near === undefined ? {} : { hint: `did you mean \`${near}\`?` }
  }

  /** Checks a field that names another resource. */
  check({ node, path }: Declaration, field: string, kind: string): void {
    const scalar = scalarAt(node, field)
    if (scalar === undefined || typeof scalar.value !== 'string' || this.#exists(kind, scalar.value)) return
    this.#report.add({
      code: 'unknown_reference',
      span: scalar.span,
      path: [...path, field],
      text: `there is no ${kind} \`${shorten(scalar.written)}\``,
      ...this.#hint(kind, scalar),
    })
  }

  /** Warns about model names without a glob and without a publication: valid, because a model may come later. */
  checkModels({ node, path }: Declaration, field: string): void {
    const list = node.kind === 'map' ? node.entries.get(field)?.value : undefined
    if (list?.kind !== 'list') return
    for (const [index, item] of list.items.entries()) {
      if (item.kind !== 'scalar' || typeof item.value !== 'string' || GLOB.test(item.value)) continue
      if (!modelPattern.safeParse(item.value).success) continue
      if (this.#exists('publication', item.value)) continue
      this.#report.add({
        code: 'unknown_model',
        severity: 'warning',
        span: item.span,
        path: [...path, field, index],
        text: `there is no publication \`${shorten(item.written)}\``,
        ...this.#hint('publication', item),
      })
    }
  }

  /**
   * Warns about names of nodes that no file declares: valid, because a node may come later, but until then it cannot join, unless
   * `settings.nodes.admission` is `token`.
   */
  checkNodes({ node, path }: Declaration): void {
    const settings = this.#declarations.find(({ kind }) => kind === 'settings')
    const admission = settings && scalarAt(entryAt(settings.node, 'nodes'), 'admission')?.value
    const list = entryAt(entryAt(node, 'nodes'), 'names')
    if (admission === 'token' || list?.kind !== 'list') return
    for (const [index, item] of list.items.entries()) {
      if (item.kind !== 'scalar' || typeof item.value !== 'string' || this.#exists('node', item.value))
        continue
      this.#report.add({
        code: 'unknown_node',
        severity: 'warning',
        span: item.span,
        path: [...path, 'nodes', 'names', index],
        text: `there is no node \`${shorten(item.written)}\``,
        ...this.#hint('node', item),
      })
    }
  }

  /** Warns about listed publications without an endpoint. */
  checkBound(): void {
    const bound = new Set<string>()
    for (const name of this.#names.get('binding') ?? []) bound.add(name.slice(0, name.lastIndexOf(' ')))
    // An invalid binding is already reported; its publication counts as bound.
    for (const { kind, name, node, publication } of this.#declarations) {
      if (kind !== 'binding' || name !== undefined) continue
      const target = publication ?? (node.kind === 'scalar' ? node.written : undefined)
      if (target !== undefined) bound.add(target)
    }
    for (const { kind, name, node, home, path } of this.#declarations) {
      if (kind !== 'publication' || name === undefined || bound.has(name)) continue
      const status = scalarAt(node, 'status')
      if ((status !== undefined && status.value !== 'listed') || this.#existing.mayDeclare(name)) continue
      const text = 'listed, but without a binding: every call would answer 404'
      this.#report.add({ code: 'listed_without_binding', severity: 'warning', span: home, path, text })
    }
  }

  /** With `settings.require_price`: warns about listed publications with calls that would be rejected. */
  checkPriced(): void {
    const settings = this.#declarations.find(({ kind }) => kind === 'settings')
    if (settings === undefined || scalarAt(settings.node, 'require_price')?.value !== true) return
    for (const { kind, node, home, path } of this.#declarations) {
      if (kind !== 'publication' || (node.kind === 'map' && node.entries.has('price'))) continue
      const status = scalarAt(node, 'status')
      if (status !== undefined && status.value !== 'listed') continue
      const text = 'without a price, which `settings.require_price` demands: every call would answer 403'
      this.#report.add({ code: 'listed_without_price', severity: 'warning', span: home, path, text })
    }
  }
}

function entryAt(node: Node | undefined, field: string): Node | undefined {
  return node?.kind === 'map' ? node.entries.get(field)?.value : undefined
}

function scalarAt(node: Node | undefined, field: string): ScalarNode | undefined {
  const value = entryAt(node, field)
  return value?.kind === 'scalar' ? value : undefined
}
