import { CONFIG_FAULTS, type ConfigCode } from '../base/catalogue/config.ts'
import { didYouMean } from './did-you-mean.ts'
import { type Described, exampleAt, fieldsAt, fieldsBelow, isSecretReference } from './fields.ts'
import type { Node } from './node.ts'
import { formatPath, type Path, shorten } from './path.ts'
import type { Finding } from './report.ts'
import type { Span } from './source.ts'

/** The part of a zod issue that is used here. */
export interface Issue {
  readonly code: string
  readonly path: readonly PropertyKey[]
  readonly message: string
  readonly keys?: readonly string[]
  readonly values?: readonly unknown[]
  readonly expected?: string
  readonly origin?: string
  readonly minimum?: number | bigint
  readonly maximum?: number | bigint
  readonly errors?: readonly (readonly Issue[])[]
  readonly issues?: readonly Issue[]
  readonly params?: Readonly<Record<string, unknown>>
}

/**
 * The issues of the intended option of a union: the only one with the right type. If no option or several match, it
 * stays one issue.
 */
export function unfolded(issue: Issue): readonly Issue[] {
  if (issue.code !== 'invalid_union') return [issue]
  const matching = (issue.errors ?? []).filter(
    branch => !branch.some(({ code, path }) => code === 'invalid_type' && path.length === 0),
  )
  const [only] = matching
  if (!only || matching.length > 1) return [issue]
  return only.flatMap(inner => unfolded({ ...inner, path: [...issue.path, ...inner.path] }))
}

/** The validated node, and its place for messages. */
export interface IssueContext {
  readonly schema: Described
  readonly node: Node
  /** The path of `node` in its document. */
  readonly path: Path
  /** The place for a field that is missing at the top: the key of the resource. */
  readonly home: Span
  /** Fields that are parsed elsewhere, but count for suggestions. */
  readonly extraFields?: readonly string[]
}

type IssueText = Omit<Finding, 'span' | 'path'>

/** Converts zod's issues to findings, each at the place to fix. A misspelt required field is one error, not two. */
export function findingsOf(issues: readonly Issue[], context: IssueContext): Finding[] {
  const misspelt = new Set(
    issues.flatMap(({ keys = [], path }) => {
      const inner = stepsOf(path)
      return keys.map(key => formatPath([...inner, suggestedField(key, context, inner) ?? '']))
    }),
  )
  return issues
    .filter(({ path }) => !misspelt.has(formatPath(stepsOf(path))))
    .flatMap(issue => findingsOfOne(issue, context))
}

function stepsOf(path: readonly PropertyKey[]): Path {
  return path.filter(step => typeof step !== 'symbol')
}

function findingsOfOne(issue: Issue, context: IssueContext): Finding[] {
  const inner = stepsOf(issue.path)
  const { node, found, home } = locate(context, inner)
  const path = [...context.path, ...inner]
  if (issue.code === 'unrecognized_keys') {
    return (issue.keys ?? []).map(key => ({
      ...unknownField(key, context, inner),
      span: node.kind === 'map' ? (node.entries.get(key)?.key ?? home) : home,
      path,
    }))
  }
  if (!found) return [{ ...missing(issue, inner), span: home, path: path.slice(0, -1) }]
  if (issue.code === 'invalid_key') {
    const text = messageOf(issue.issues?.[0] ?? issue)
    return [{ code: 'value_out_of_range', text, span: home, path }]
  }
  const finding = findingText(issue, node, context, inner)
  // Frames are drawn last, so that no frame contains a value found to be a secret.
  if (finding.code === 'literal_secret') node.span.source.redact(node.span.start, node.span.end)
  return [{ ...finding, span: node.span, path }]
}

/** The node at `inner`, or the deepest one on the path, with the key that leads to it. */
function locate(context: IssueContext, inner: Path): { node: Node; found: boolean; home: Span } {
  let node = context.node
  let home = context.home
  for (const step of inner) {
    if (node.kind === 'list' && typeof step === 'number') {
      const item = node.items[step]
      if (item === undefined) return { node, found: false, home }
      home = item.span
      node = item
    } else {
      const entry = node.kind === 'map' ? node.entries.get(String(step)) : undefined
      if (entry === undefined) return { node, found: false, home }
      home = entry.key
      node = entry.value
    }
  }
  return { node, found: true, home }
}

function unknownField(key: string, context: IssueContext, inner: Path): IssueText {
  const near = suggestedField(key, context, inner)
  const hint =
    near === undefined
      ? `the fields here are ${listed(fieldsHere(context, inner))}`
      : `did you mean \`${near}\`?`
  return { code: 'unknown_field', text: `unknown field \`${shorten(key)}\``, hint }
}

/** The field that `key` most likely stands for. */
function suggestedField(key: string, context: IssueContext, inner: Path): string | undefined {
  const fields = fieldsHere(context, inner)
  return (
    KNOWN_ELSEWHERE.get(key)?.find(field => fields.includes(field)) ??
    didYouMean(key, fields) ??
    fieldsBelow(context.schema, inner).get(key)
  )
}

function fieldsHere({ schema, extraFields = [] }: IssueContext, inner: Path): string[] {
  return [...fieldsAt(schema, inner), ...(inner.length === 0 ? extraFields : [])]
}

/** Field names of other gateways. */
const KNOWN_ELSEWHERE: ReadonlyMap<string, readonly string[]> = new Map([
  ['api_key', ['upstream_key', 'secret']],
  ['credential', ['upstream_key', 'secret']],
  ['key', ['upstream_key', 'secret']],
  ['token', ['upstream_key', 'secret']],
  ['api_base', ['base_url']],
  ['url', ['base_url']],
  ['provider', ['protocol']],
  ['type', ['protocol', 'kind']],
  ['model', ['served_model', 'models']],
  ['max_parallel_requests', ['concurrency', 'max_concurrency']],
  ['endpoint', ['bindings']],
  ['fallbacks', ['bindings']],
  ['cost', ['price']],
  ['prio', ['priority']],
  ['max_budget', ['budget']],
  ['expires', ['expires_at']],
])

function missing(issue: Issue, inner: Path): IssueText {
  const code = faultOf(issue)
  const field = shorten(String(inner.at(-1)))
  if (code !== undefined && issue.code === 'custom') return { code, text: issue.message }
  const hint = issue.values === undefined ? {} : { hint: `one of ${listed(issue.values.map(String))}` }
  return { code: 'missing_field', text: `\`${field}\` is missing`, ...hint }
}

function findingText(issue: Issue, node: Node, context: IssueContext, inner: Path): IssueText {
  if (isSecretReference(context.schema, inner) && node.kind === 'scalar' && node.value !== null) {
    return { code: 'literal_secret', text: 'a secret in plain text (it is not shown here)' }
  }
  switch (issue.code) {
    case 'invalid_type':
      return wrongKind([issue.expected ?? ''], node, context, inner)
    case 'invalid_union': {
      const expected = (issue.errors ?? []).flatMap(([first]) => first?.expected ?? [])
      return wrongKind(expected, node, context, inner)
    }
    case 'invalid_value':
      return noneOf((issue.values ?? []).map(String), node)
    default:
      return { code: faultOf(issue) ?? 'value_out_of_range', text: messageOf(issue) }
  }
}

const KIND_WORDS: Readonly<Record<string, string | undefined>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: '`true` or `false`',
  object: 'a map',
  record: 'a map',
  array: 'a list',
}

function wrongKind(expected: readonly string[], node: Node, context: IssueContext, inner: Path): IssueText {
  const { schema } = context
  const words = expected.map(kind => KIND_WORDS[kind] ?? kind).join(' or ')
  const example = expected.includes('string') ? exampleAt(schema, inner) : undefined
  const wanted = example === undefined ? words : `${words} such as \`${example}\``
  const hint = formHint(node, [...context.path, ...inner]) ?? quotingHint(expected, node, example)
  return {
    code: 'wrong_type',
    text: `expected ${wanted}, got ${kindOf(node)}`,
    ...(hint !== undefined && { hint }),
  }
}

/** The correct form of fields that are often written in a shorter form. */
function formHint(node: Node, path: Path): string | undefined {
  if (node.kind !== 'scalar' || node.value === null || node.interpolated) return undefined
  const written = shorten(node.written)
  const [last, before] = [path.at(-1), path.at(-2)]
  if (last === 'budget' && typeof node.value === 'number')
    return `write \`{ amount: ${written}, per: month }\``
  if (before !== 'bindings' || typeof node.value !== 'string') return undefined
  return path.length === 2
    ? `write \`{ publication: ${written}, endpoint: NAME }\``
    : `write \`{ endpoint: ${written} }\``
}

function quotingHint(
  expected: readonly string[],
  node: Node,
  example: string | undefined,
): string | undefined {
  if (node.kind !== 'scalar') return undefined
  const { value, written, interpolated } = node
  if (value === null) return 'write a value, or remove the field'
  if (expected.includes('array') && typeof value === 'string') return 'write it as a list: `[…]`'
  if (interpolated) return undefined
  if (expected.includes('string') && example === undefined) return `quote it: "${shorten(written)}"`
  const wantsNumber = expected.includes('number') || expected.includes('int')
  if (wantsNumber && typeof value === 'string' && /^[0-9.]+$/.test(value)) return 'remove the quotes'
  if (expected.includes('boolean') && typeof value === 'string') {
    if (/^(?:yes|on|true)$/i.test(value)) return 'write `true`'
    if (/^(?:no|off|false)$/i.test(value)) return 'write `false`'
  }
  return undefined
}

export function kindOf(node: Node): string {
  if (node.kind === 'map') return 'a map'
  if (node.kind === 'list') return 'a list'
  if (node.kind === 'broken' || node.value === null) return 'nothing'
  if (typeof node.value === 'boolean') return `\`${node.value}\``
  return typeof node.value === 'number' ? (Number.isInteger(node.value) ? 'a number' : 'a fraction') : 'text'
}

function noneOf(values: readonly string[], node: Node): IssueText {
  if (node.kind !== 'scalar' || node.value === null) {
    return { code: 'wrong_type', text: `expected one of ${listed(values)}, got ${kindOf(node)}` }
  }
  const near = node.interpolated ? undefined : didYouMean(node.written, values)
  return {
    code: 'unknown_value',
    text: `\`${shorten(node.written)}\` is not one of ${listed(values)}`,
    ...(near !== undefined && { hint: `did you mean \`${near}\`?` }),
  }
}

export function listed(names: readonly string[]): string {
  return names.map(name => `\`${name}\``).join(', ')
}

/** The message of our schema, or a replacement for zod's generic one. */
function messageOf(issue: Issue): string {
  if (!/^(?:Too small|Too big|Invalid)/.test(issue.message)) return issue.message
  const unit = issue.origin === 'string' ? ' characters' : issue.origin === 'array' ? ' entries' : ''
  if (issue.minimum !== undefined) return `at least ${issue.minimum}${unit}`
  if (issue.maximum !== undefined) return `at most ${issue.maximum}${unit}`
  return 'a value in the wrong format'
}

function faultOf(issue: Issue): ConfigCode | undefined {
  const fault = issue.params?.['fault']
  return typeof fault === 'string' && Object.hasOwn(CONFIG_FAULTS, fault) ? (fault as ConfigCode) : undefined
}
