import { isMap, isScalar, type ParsedNode } from 'yaml'
import { DECLARED_KINDS, encode, KIND_NAMES, type Spec } from '../schema/kinds.ts'
import { inlineBinding } from '../schema/publication.ts'
import { modelName } from '../schema/scalars.ts'
import { check, type Schema } from './check.ts'
import { type Declaration, type Declared, extractDeclarations } from './extract-declarations.ts'
import { type Files, readFiles } from './files.ts'
import { checkLikelyMistakes } from './likely-mistakes.ts'
import { redactUnread } from './mask.ts'
import { checkReferences } from './references.ts'
import { type Finding, Report } from './report.ts'
import { resolveDocument } from './resolve.ts'
import type { Source } from './source.ts'
import type { DeclaredResource, Loaded, LoadPorts } from './types.ts'
import { parseYaml } from './yaml.ts'

const DEFAULT_SET = 'default'

/**
 * Loads a tree of configuration files: the full tree, or every problem in it.
 *
 *     paths ──▶ files ──▶ yaml ──▶ resolve ──▶ declare ──▶ check ──▶ references ──▶ tree
 *                 │         │          │          │           │           │
 *               GW100x   GW100x     GW110x     GW12xx      GW12xx      GW13xx
 *                        GW110x     GW14xx                 GW1404
 *
 * A stage that finds an error reports it and continues with the rest: an unparsable file does not affect other files,
 * and an invalid resource does not affect its neighbours. Never throws for the content of a file.
 *
 * @param paths files, directories (everything below them), or `-` for stdin; messages show them as given.
 */
export async function load(paths: readonly string[], ports: LoadPorts): Promise<Loaded> {
  const report = new Report()
  const files = await readFiles(paths, ports, report)
  const declared = files.sources.flatMap(source => readSource(source, report, ports) ?? [])
  const declarations = declared.flatMap(file => file.declarations)
  const resources = declarations.flatMap(declaration => resource(declaration, report) ?? [])
  checkReferences(declarations, { known: ports.known, mayDeclare: unreadNames(files) }, report)
  checkLikelyMistakes(declarations, report)
  const set = oneSet(declared, report)
  const problems = report.problems()
  if (report.hasErrors || files.sources.length === 0) return { ok: false, problems }
  return {
    ok: true,
    problems,
    tree: { set, resources: resources.sort(byKindAndName), files: files.sources.map(source => source.file) },
  }
}

/** The declarations of one file, or undefined if the file is rejected as a whole. */
function readSource(source: Source, report: Report, ports: LoadPorts): Declared | undefined {
  const { contents, finding } = parseYaml(source)
  const rejection = detectForeign(contents, source) ?? finding ?? emptiness(contents, source)
  const node =
    contents === null
      ? undefined
      : resolveDocument(contents, source, rejection ? new Report() : report, ports.environment)
  if (rejection === undefined && node !== undefined) return extractDeclarations(node, report)
  if (rejection !== undefined) report.add(rejection)
  redactUnread(source)
  return undefined
}

export function emptiness(contents: ParsedNode | null, source: Source): Finding | undefined {
  const isEmpty =
    contents === null || (isScalar(contents) && contents.value === null && contents.source === '')
  if (!isEmpty) return undefined
  return {
    code: 'file_empty',
    span: { source, start: 0, end: 1 },
    text: 'nothing but white space and comments',
  }
}

/** The canonical form of a resource, or undefined if its declaration is invalid. */
function resource(declaration: Declaration, report: Report): DeclaredResource | undefined {
  const { kind, name, home } = declaration
  const declared = canonical(declaration, report)
  if (declared === undefined || name === undefined) return undefined
  return { kind, name, ...declared, place: home.source.placeAt(home.start) }
}

function canonical(
  declaration: Declaration,
  report: Report,
): Pick<DeclaredResource, 'spec' | 'previousName'> | undefined {
  const { kind, node, home, path, publication } = declaration
  const context = { node, home, path, extraFields: kind === 'publication' ? ['bindings'] : [] }
  if (publication !== undefined) {
    const inline = check(inlineBinding, context, report)
    // An invalid publication name is already reported; its bindings have no valid name either.
    if (!inline || !modelName.safeParse(publication).success) return undefined
    return { spec: encode('binding', { ...inline, publication }) }
  }
  const schema: Schema<unknown> = DECLARED_KINDS[kind]
  const decoded = check(schema, context, report)
  if (decoded === undefined) return undefined
  const { previous_name: previousName, ...spec } = decoded as Spec<typeof kind> & Renamed
  return {
    spec: encode(kind, spec as Spec<typeof kind>),
    ...(previousName !== undefined && { previousName }),
  }
}

interface Renamed {
  readonly previous_name?: string
}

function oneSet(declared: readonly Declared[], report: Report): string {
  const [first, ...others] = declared.flatMap(file => file.set ?? [])
  for (const { name, span } of others) {
    if (first === undefined || name === first.name) continue
    report.add({
      code: 'duplicate_set',
      span,
      other: first.span,
      text: `the tree already has the set \`${first.name}\``,
    })
  }
  return first?.name ?? DEFAULT_SET
}

/** A name that occurs in an unreadable file is not reported as missing. */
function unreadNames({ sources, incomplete }: Files): (name: string) => boolean {
  const texts = sources.filter(source => source.unread).map(source => source.text)
  return name => incomplete || texts.some(text => text.includes(name))
}

const KIND_ORDER = new Map(KIND_NAMES.map((kind, at) => [kind, at]))

function byKindAndName(a: DeclaredResource, b: DeclaredResource): number {
  const byKind = (KIND_ORDER.get(a.kind) ?? 0) - (KIND_ORDER.get(b.kind) ?? 0)
  return byKind || (a.name < b.name ? -1 : 1)
}

/** Root keys of a LiteLLM proxy `config.yaml`; the first is always present in practice. */
const LITELLM_KEYS = ['model_list', 'litellm_settings', 'router_settings', 'general_settings']
const GW_SECTIONS = ['endpoints', 'publications', 'tenants', 'keys', 'bindings']

/** A single finding for a file of another program, instead of one per field. */
function detectForeign(contents: ParsedNode | null, source: Source): Finding | undefined {
  if (!isMap(contents)) return undefined
  const keys = new Map<string, ParsedNode>()
  for (const { key } of contents.items) {
    if (isScalar(key) && typeof key.value === 'string') keys.set(key.value, key as ParsedNode)
  }
  if (GW_SECTIONS.some(section => keys.has(section))) return undefined
  const apiVersion = keys.get('apiVersion')
  if (apiVersion && keys.has('kind')) {
    const text = 'this is a Kubernetes manifest'
    return { code: 'kubernetes_manifest', span: spanOf(apiVersion, source), text }
  }
  const litellm = LITELLM_KEYS.flatMap(name => keys.get(name) ?? [])[0]
  if (litellm)
    return {
      code: 'litellm_configuration',
      span: spanOf(litellm, source),
      text: 'this is a LiteLLM configuration',
    }
  return undefined
}

function spanOf(key: ParsedNode, source: Source) {
  return { source, start: key.range[0], end: key.range[1] }
}
