import { Document, isAlias, isMap, isScalar, isSeq, type Pair, parseDocument, type YAMLMap } from 'yaml'
import { type CanonicalSpec, isFields, type Json, type Kind } from '../schema/kinds.ts'
import { declaredFields, withoutPublication, write } from './render.ts'

/** A resource before and after a change, in canonical form; absent: it does not exist. */
export interface ResourceEdit {
  readonly kind: Exclude<Kind, 'settings'>
  readonly name: string
  readonly before?: CanonicalSpec
  readonly after?: CanonicalSpec
}

const SECTIONS = {
  node: 'nodes',
  endpoint: 'endpoints',
  publication: 'publications',
  binding: 'bindings',
  tenant: 'tenants',
  key: 'keys',
} as const

/** A replaced part of the text. */
interface Splice {
  readonly start: number
  readonly end: number
  readonly text: string
}

/**
 * The text of a file with one changed or deleted resource. Only the lines of changed fields differ: comments, order,
 * quotes and variables of all others stay.
 * @returns undefined if the text does not declare the resource in a form that can be edited.
 */
export function editedFile(text: string, edit: ResourceEdit): string | undefined {
  const document = parseDocument(text, { keepSourceTokens: true })
  if (document.errors.length > 0 || !isMap(document.contents)) return undefined
  const found = declarationIn(document.contents, edit)
  if (!found) return undefined
  const { node, holder } = found
  const splices =
    edit.after === undefined
      ? [removed(text, holder)]
      : fieldSplices(text, node, fieldsOf(edit, edit.before), fieldsOf(edit, edit.after))
  return splices && spliced(text, splices)
}

/** A change as a unified diff of one hunk; empty if the texts are equal. */
export function unifiedDiff(file: string, before: string, after: string): string {
  if (before === after) return ''
  const [olds, news] = [linesOf(before), linesOf(after)]
  let start = 0
  while (start < olds.length && start < news.length && olds[start] === news[start]) start++
  let tail = 0
  const shorter = Math.min(olds.length, news.length) - start
  while (tail < shorter && olds.at(-1 - tail) === news.at(-1 - tail)) tail++
  const from = Math.max(0, start - CONTEXT)
  const after3 = Math.max(0, tail - CONTEXT)
  const [oldEnd, newEnd] = [olds.length - tail, news.length - tail]
  const hunk = [
    ...olds.slice(from, start).map(line => ` ${line}`),
    ...olds.slice(start, oldEnd).map(line => `-${line}`),
    ...news.slice(start, newEnd).map(line => `+${line}`),
    ...olds.slice(oldEnd, olds.length - after3).map(line => ` ${line}`),
  ]
  const range = (lines: number) => `${lines === 0 ? from : from + 1},${lines}`
  const [oldRange, newRange] = [olds.length - after3 - from, news.length - after3 - from].map(range)
  const [oldName, newName] = file.startsWith('/') ? [file, file] : [`a/${file}`, `b/${file}`]
  return `--- ${oldName}\n+++ ${newName}\n@@ -${oldRange} +${newRange} @@\n${hunk.join('\n')}\n`
}

/** Unchanged lines around a hunk. */
const CONTEXT = 3

function linesOf(text: string): string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n')
}

/** The fields of a declaration; a binding is declared inside its publication, or by itself. */
function fieldsOf({ kind }: ResourceEdit, spec: CanonicalSpec = {}): CanonicalSpec {
  const fields = declaredFields(kind, spec)
  return kind === 'binding' ? withoutPublication(fields) : fields
}

interface Declaration {
  readonly node: YAMLMap
  /** What is removed with the resource. */
  readonly holder: { readonly start: number; readonly end: number }
}

function declarationIn(root: YAMLMap, { kind, name }: ResourceEdit): Declaration | undefined {
  if (kind === 'binding') return bindingIn(root, name)
  const section = root.get(SECTIONS[kind])
  if (!isMap(section) || section.flow) return undefined
  const pair = pairOf(section, name)
  if (!isMap(pair?.value)) return undefined
  // The last one goes with its section.
  const holder = section.items.length === 1 ? pairOf(root, SECTIONS[kind]) : pair
  return holder && { node: pair.value, holder: rangeOf(holder) }
}

/** The binding in the list of its publication, or in that of the file. */
function bindingIn(root: YAMLMap, name: string): Declaration | undefined {
  const [publication = '', endpoint = ''] = name.split(' ')
  const lists = [
    root.getIn([SECTIONS.publication, publication, 'bindings']),
    root.get(SECTIONS.binding),
  ].filter(isSeq)
  for (const list of lists) {
    const item = list.items.find(
      each =>
        isMap(each) &&
        each.get('endpoint') === endpoint &&
        (each.get('publication') ?? publication) === publication,
    )
    if (!isMap(item) || list.flow || !item.range) continue
    return { node: item, holder: { start: item.range[0], end: item.range[1] } }
  }
  return undefined
}

function pairOf(map: YAMLMap, name: string): Pair | undefined {
  return map.items.find(({ key }) => isScalar(key) && String(key.value) === name)
}

function rangeOf({ key, value }: Pair): { readonly start: number; readonly end: number } {
  const ranges = [key, value].flatMap(node =>
    node !== null && typeof node === 'object' && 'range' in node && node.range
      ? [node.range as readonly [number, number, number]]
      : [],
  )
  return { start: ranges[0]?.[0] ?? 0, end: ranges.at(-1)?.[1] ?? 0 }
}

/** Undefined if a field cannot be edited where it stands. */
function fieldSplices(
  text: string,
  node: YAMLMap,
  before: CanonicalSpec,
  after: CanonicalSpec,
): Splice[] | undefined {
  if (node.flow) return [flowSplice(node, before, after)]
  const splices: Splice[] = []
  const indent = columnOf(text, rangeOf(node.items[0] as Pair).start)
  const added: string[] = []
  for (const field of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [old, made] = [before[field], after[field]]
    if (JSON.stringify(old) === JSON.stringify(made)) continue
    const pair = pairOf(node, field)
    if (made === undefined) {
      if (pair) splices.push(removed(text, rangeOf(pair)))
    } else if (!pair) added.push(indented(write({ [field]: made }), indent))
    else if (isMap(pair.value) && isFields(old) && isFields(made)) {
      const nested = fieldSplices(text, pair.value, old, made)
      if (!nested) return undefined
      splices.push(...nested)
    } else {
      const { start, end } = rangeOf(pair)
      splices.push({ start, end: trimmedEnd(text, end), text: indented(write({ [field]: made }), indent) })
    }
  }
  if (added.length > 0) {
    const last = rangeOf(node.items.at(-1) as Pair)
    const end = lineEnd(text, trimmedEnd(text, last.end))
    const lines = added.map(line => `\n${' '.repeat(indent)}${line}`).join('')
    splices.push({ start: end, end, text: lines })
  }
  return splices
}

/** A map in braces is written anew, with the source text of its unchanged members. */
function flowSplice(node: YAMLMap, before: CanonicalSpec, after: CanonicalSpec): Splice {
  const { range } = node
  for (const field of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const made = after[field]
    if (JSON.stringify(before[field]) === JSON.stringify(made)) continue
    if (made === undefined) node.delete(field)
    else node.set(field, flowValue(made))
  }
  const document = new Document(undefined, { version: '1.2', schema: 'core' })
  document.contents = node
  return { start: range?.[0] ?? 0, end: range?.[1] ?? 0, text: document.toString({ lineWidth: 0 }).trimEnd() }
}

function flowValue(value: Json): unknown {
  const { contents } = parseDocument(write(value))
  if (contents && (isMap(contents) || isSeq(contents)) && !isAlias(contents)) contents.flow = true
  return contents
}

/** Whole lines, or with the list sign of an item. */
function removed(text: string, { start, end }: { readonly start: number; readonly end: number }): Splice {
  const from = text.lastIndexOf('\n', start - 1) + 1
  return { start: from, end: Math.min(text.length, lineEnd(text, trimmedEnd(text, end)) + 1), text: '' }
}

function spliced(text: string, splices: readonly Splice[]): string {
  return splices
    .toSorted((a, b) => b.start - a.start)
    .reduce((made, splice) => made.slice(0, splice.start) + splice.text + made.slice(splice.end), text)
}

function columnOf(text: string, offset: number): number {
  return offset - (text.lastIndexOf('\n', offset - 1) + 1)
}

/** The lines of a block, from the second on at the column of the first. */
function indented(block: string, column: number): string {
  return block.trimEnd().replaceAll('\n', `\n${' '.repeat(column)}`)
}

/** A block ends before the white space after it. */
function trimmedEnd(text: string, end: number): number {
  return end - (/\s*$/.exec(text.slice(0, end))?.[0].length ?? 0)
}

function lineEnd(text: string, offset: number): number {
  const end = text.indexOf('\n', offset)
  return end === -1 ? text.length : end
}
