import { isAlias, isMap, isScalar, isSeq, type ParsedNode, Scalar, type YAMLMap, type YAMLSeq } from 'yaml'
import { isStorable } from '../base/storable-text.ts'
import { interpolate, isOneVariable, plainValue } from './interpolate.ts'
import { holdsSecret, isReferencePart, isSecretSlot } from './mask.ts'
import type { BrokenNode, Entry, ListNode, MapNode, Node, Plain, ScalarNode } from './node.ts'
import { shorten } from './path.ts'
import type { Finding, Report } from './report.ts'
import type { Source, Span } from './source.ts'
import type { Variables } from './types.ts'

/** The deepest nesting, aliases included. */
const DEPTH_LIMIT = 32
/** The expansion that aliases and merges may add: a fixed amount, and a multiple of the file's own size. */
const EXPANSION_ALLOWANCE = 100_000
const EXPANSION_FACTOR = 10
/** The tags of the values of YAML 1.2. */
const CORE_TAG = /^tag:yaml\.org,2002:(?:str|int|float|bool|null|map|seq)$/

/**
 * Resolves a syntax tree: follows aliases, applies merges, fills in variables (without an environment none), redacts
 * secrets.
 *
 * Linear in the file size: an aliased node is shared, and its size is counted at each use, so that an alias bomb is
 * rejected before any expansion.
 *
 * @returns `undefined` if the file is rejected as a whole.
 */
export function resolveDocument(
  contents: ParsedNode,
  source: Source,
  report: Report,
  environment: Variables | undefined,
): Node | undefined {
  const reader = new Reader(source, report, environment)
  const node = reader.node(contents, 1)
  return reader.rejected ? undefined : node
}

interface Anchor {
  /** Absent while the anchored value is being read: an alias to it would contain itself. */
  node?: Node
}

class Reader {
  /** Set when the file exceeds a limit; then reading stops. */
  rejected = false
  readonly #source: Source
  readonly #report: Report
  readonly #environment: Variables | undefined
  readonly #anchors = new Map<string, Anchor>()
  #written = 0
  #expanded = 0

  constructor(source: Source, report: Report, environment: Variables | undefined) {
    this.#source = source
    this.#report = report
    this.#environment = environment
  }

  node(ast: ParsedNode, depth: number): Node {
    const span = this.#spanOf(ast)
    if (this.rejected) return broken(span)
    this.#written++
    if (isAlias(ast)) return this.#alias(ast.source, span, depth)
    if (depth > DEPTH_LIMIT)
      return this.#reject('nesting_too_deep', span, `nested more than ${DEPTH_LIMIT} levels deep`)
    const anchor = ast.anchor === undefined ? undefined : this.#open(ast.anchor)
    const node = this.#tagged(ast, span) ?? this.#untagged(ast, span, depth)
    if (anchor) anchor.node = node
    return node
  }

  #untagged(ast: ParsedNode, span: Span, depth: number): Node {
    if (isMap(ast)) return this.#map(ast, span, depth)
    if (isSeq(ast)) return this.#list(ast, span, depth)
    if (isScalar(ast)) return this.#scalar(ast, span)
    return broken(span)
  }

  #open(name: string): Anchor {
    const anchor: Anchor = {}
    this.#anchors.set(name, anchor)
    return anchor
  }

  #tagged(ast: ParsedNode, span: Span): BrokenNode | undefined {
    if (ast.tag === undefined || CORE_TAG.test(ast.tag)) return undefined
    this.#report.add({ code: 'unknown_tag', span, text: `gw does not support the tag of this value` })
    return broken(span)
  }

  #alias(name: string, span: Span, depth: number): Node {
    const anchor = this.#anchors.get(name)
    if (anchor === undefined) {
      this.#report.add({ code: 'alias_undefined', span, text: 'no anchor of this name before the alias' })
      return broken(span)
    }
    if (anchor.node === undefined) {
      const text = 'the alias is inside the value that it refers to'
      this.#report.add({ code: 'alias_undefined', span, text, hint: 'write the value in full' })
      return broken(span)
    }
    if (!this.#afford(anchor.node.size)) return this.#rejectExpansion(span)
    if (depth + anchor.node.height - 1 > DEPTH_LIMIT) {
      return this.#reject(
        'nesting_too_deep',
        span,
        `nested more than ${DEPTH_LIMIT} levels deep, through this alias`,
      )
    }
    return anchor.node
  }

  #afford(nodes: number): boolean {
    this.#expanded += nodes
    return this.#expanded <= EXPANSION_ALLOWANCE + EXPANSION_FACTOR * this.#written
  }

  #rejectExpansion(span: Span): BrokenNode {
    return this.#reject('alias_limit', span, 'aliases and merges make this file too large')
  }

  #reject(code: Finding['code'], span: Span, text: string): BrokenNode {
    this.rejected = true
    this.#report.add({ code, span, text })
    return broken(span)
  }

  #list(ast: YAMLSeq.Parsed, span: Span, depth: number): ListNode {
    const items = ast.items.map(item => this.node(item, depth + 1))
    return { kind: 'list', items, span, ...measure(items) }
  }

  #map(ast: YAMLMap.Parsed, span: Span, depth: number): MapNode {
    const entries = new Map<string, Entry>()
    const merges: { key: Span; value: Node }[] = []
    for (const pair of ast.items) {
      if (this.rejected) break
      const key = this.#spanOf(pair.key)
      const name = this.#keyName(pair.key, key)
      const value = pair.value === null ? empty(key) : this.node(pair.value, depth + 1)
      if (name === undefined) continue
      if (isMergeKey(pair.key)) {
        if (merges[0]) {
          this.#report.add({
            code: 'duplicate_map_key',
            span: key,
            other: merges[0].key,
            text: 'a second `<<` in one map',
            hint: 'merge several maps with a list: `<<: [*a, *b]`',
          })
        }
        merges.push({ key, value })
        continue
      }
      const earlier = entries.get(name)
      if (earlier) {
        const { line } = this.#source.placeAt(earlier.key.start)
        this.#report.add({
          code: 'duplicate_map_key',
          span: key,
          other: earlier.key,
          text: `\`${shorten(name)}\` is already on line ${line}`,
        })
        continue
      }
      redactSecrets(name, value)
      entries.set(name, { key, value })
    }
    for (const merge of merges) this.#merge(merge.value, merge.key, entries)
    return { kind: 'map', entries, span, ...measure([...entries.values()].map(entry => entry.value)) }
  }

  /** Adds the entries of merged maps. An entry of the map itself takes precedence, then that of an earlier merged map. */
  #merge(value: Node, key: Span, into: Map<string, Entry>): void {
    const maps = value.kind === 'list' ? value.items : [value]
    for (const map of maps) {
      if (map.kind === 'broken') continue
      if (map.kind !== 'map') {
        this.#report.add({ code: 'merge_not_map', span: key, text: '`<<` takes a map or a list of maps' })
        continue
      }
      if (!this.#afford(map.entries.size)) {
        this.#rejectExpansion(key)
        return
      }
      for (const [name, entry] of map.entries) {
        if (!into.has(name)) into.set(name, entry)
      }
    }
  }

  #keyName(ast: ParsedNode, span: Span): string | undefined {
    if (
      !isScalar(ast) ||
      typeof ast.value !== 'string' ||
      (ast.tag !== undefined && !CORE_TAG.test(ast.tag))
    ) {
      const hint =
        isScalar(ast) && ast.source !== undefined ? `quote it: "${shorten(ast.source)}"` : undefined
      this.#report.add({
        code: 'map_key_not_text',
        span,
        text: 'a key that is not text',
        ...(hint !== undefined && { hint }),
      })
      return undefined
    }
    if (ast.anchor !== undefined) {
      this.#open(ast.anchor).node = scalar(span, ast.value, ast.value, false)
    }
    if (!isStorable(ast.value)) {
      this.#report.add({
        code: 'map_key_not_text',
        span,
        text: 'a key with NUL, or with half of a surrogate pair',
      })
      return undefined
    }
    if (ast.value === '__proto__') {
      this.#report.add({ code: 'reserved_map_key', span, text: '`__proto__` cannot be a key' })
      return undefined
    }
    return ast.value
  }

  #scalar(ast: Scalar, span: Span): ScalarNode | BrokenNode {
    const { value } = ast
    const plain: Plain =
      typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : null
    if (typeof plain !== 'string') return storable(scalar(span, plain, ast.source ?? '', false))
    if (this.#environment === undefined) return storable(scalar(span, plain, plain, false))
    const filled = interpolate(plain, this.#environment)
    if (!filled.ok) return { ...broken(span), findings: filled.faults.map(fault => ({ ...fault, span })) }
    const typed = ast.type === Scalar.PLAIN && ast.tag === undefined && isOneVariable(plain)
    const meant = typed ? plainValue(filled.text) : filled.text
    return storable(scalar(span, meant, plain, filled.usesVariables))
  }

  #spanOf(ast: ParsedNode): Span {
    const [start, end] = ast.range
    return { source: this.#source, start, end: Math.max(end, start + 1) }
  }
}

function isMergeKey(ast: ParsedNode): boolean {
  return isScalar(ast) && ast.value === '<<' && ast.type === Scalar.PLAIN
}

/** Numbers that JSON and money cannot hold, and text that no store can. */
function storable(node: ScalarNode): ScalarNode | BrokenNode {
  const text = faultOf(node.value)
  if (text === undefined) return node
  return { ...broken(node.span), findings: [{ code: 'value_out_of_range', span: node.span, text }] }
}

function faultOf(value: Plain): string | undefined {
  if (typeof value === 'string')
    return isStorable(value) ? undefined : 'text with NUL, or with half of a surrogate pair'
  if (typeof value !== 'number' || Number.isFinite(value)) return undefined
  return Number.isNaN(value) ? '`.nan` is not a number that gw takes' : 'an infinite number'
}

function broken(span: Span): BrokenNode {
  return { kind: 'broken', span, size: 1, height: 1, findings: [] }
}

function scalar(span: Span, value: Plain, written: string, interpolated: boolean): ScalarNode {
  return { kind: 'scalar', value, written, interpolated, span, size: 1, height: 1 }
}

/** The value of `key:` with nothing after it. */
function empty(span: Span): ScalarNode {
  return scalar(span, null, '', false)
}

function measure(children: readonly Node[]): { size: number; height: number } {
  let size = 1
  let height = 0
  for (const child of children) {
    size += child.size
    height = Math.max(height, child.height)
  }
  return { size, height: height + 1 }
}

/** Redacts the value of a secret field, at its anchor if it is an alias. */
function redactSecrets(name: string, value: Node): void {
  if (value.kind === 'list') for (const item of value.items) redactScalar(name, item)
  else if (value.kind !== 'map') redactScalar(name, value)
  else if (isSecretSlot(name)) {
    for (const [part, { value: inner }] of value.entries) {
      if (inner.kind === 'scalar' && isReferencePart(part, inner.written)) continue
      redact(inner)
    }
  }
}

function redactScalar(name: string, node: Node): void {
  if (node.kind === 'map' || node.kind === 'list') return
  if (node.kind === 'scalar' && (node.value === null || typeof node.value === 'boolean')) return
  if (holdsSecret(name, node.kind === 'scalar' ? node.written : '')) redact(node)
}

function redact(node: Node): void {
  node.span.source.redact(node.span.start, node.span.end)
}
