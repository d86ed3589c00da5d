import { CommandError } from '../../base/catalogue/command.ts'
import { readFiles } from '../../config/files.ts'
import { emptiness, load } from '../../config/load.ts'
import type { Node } from '../../config/node.ts'
import { render } from '../../config/render.ts'
import { Report } from '../../config/report.ts'
import { resolveDocument } from '../../config/resolve.ts'
import type { LoadPorts, Problem } from '../../config/types.ts'
import { parseYaml } from '../../config/yaml.ts'
import { KINDS, type Resource } from '../../schema/kinds.ts'
import type { AppPorts } from '../context.ts'
import { ConfigurationInvalid } from '../invalid.ts'
import { Assembly, endpointProblem, resource } from './assembled.ts'
import { type Credential, isModelName, readDeployment, silenceOf, variableIn } from './deployment.ts'
import { type Note, Part, Tally, type UnconvertedField } from './parts.ts'
import { vendorVariables } from './providers.ts'
import { reasonFor } from './reasons.ts'

/** The result of an import. */
export interface Imported {
  /** A valid configuration file of gw. */
  readonly yaml: string
  readonly resources: readonly Resource[]
  /** Every field that was not imported, in the order of the file. */
  readonly left: readonly UnconvertedField[]
  readonly notes: readonly Note[]
}

export interface ImportOptions {
  /** Use the price list for models without a price in the file. */
  readonly prices?: boolean
}

/** A tenant and a key, so that the models can be called at once: `gw keys issue` mints the secret. */
export const IMPORTED_TENANT = 'my-team'
export const IMPORTED_KEY = 'my-app'

export type ImportOutcome =
  | { readonly ok: true; readonly imported: Imported }
  | { readonly ok: false; readonly problems: readonly Problem[] }

/** Settings with fields that are reported one by one. */
const SECTIONS = ['litellm_settings', 'router_settings', 'general_settings']

/**
 * Converts a `config.yaml` of the LiteLLM proxy into a configuration of gw, and validates it like `gw validate`.
 * @throws {ConfigurationInvalid} if the file is not such a configuration, or does not parse.
 */
export async function importedFromLitellm(
  path: string,
  ports: AppPorts,
  options: ImportOptions,
): Promise<Imported> {
  const outcome = await importLitellm(path, ports, options)
  ports.signal.throwIfAborted()
  if (!outcome.ok) throw new ConfigurationInvalid(outcome.problems)
  const { imported } = outcome
  const checked = await load(['-'], {
    environment: {},
    known: new Set(),
    readStdin: async () => Buffer.from(imported.yaml),
  })
  if (checked.ok) return imported
  const [first] = checked.problems
  throw new CommandError(
    'unexpected',
    `The imported configuration is not valid: ${first?.message ?? 'no reason given'}.`,
  )
}

/**
 * Converts a `config.yaml` of the LiteLLM proxy (docs.litellm.ai, "Config.yaml") to a configuration of gw.
 *
 *     model_list ──▶ deployments ──▶ endpoints, publications, bindings
 *     aliases, fallbacks ──▶ publications, tiers          everything else ──▶ reported, with its place
 *
 * A literal credential is never copied: a reference to a variable replaces it.
 */
export async function importLitellm(
  path: string,
  ports: Pick<LoadPorts, 'readStdin'>,
  options: ImportOptions = {},
): Promise<ImportOutcome> {
  const report = new Report()
  const { sources } = await readFiles([path], { ...ports, environment: {}, known: new Set() }, report)
  const [source, other] = sources
  if (other) throw new CommandError('usage', `${path} has several files: an import takes one.`)
  if (source === undefined) return { ok: false, problems: report.problems() }
  const { contents, finding } = parseYaml(source)
  if (finding) report.add(finding)
  const empty = finding ? undefined : emptiness(contents, source)
  if (empty) report.add(empty)
  const node = contents && resolveDocument(contents, source, report, undefined)
  if (node && (node.kind !== 'map' || !node.entries.has('model_list'))) {
    report.add({
      code: 'missing_field',
      span: node.span,
      text: 'no `model_list`: this is not a configuration of the LiteLLM proxy',
    })
  }
  if (report.hasErrors || !node) return { ok: false, problems: report.problems() }
  const tally = new Tally(new Set([...vendorVariables(), ...variablesIn(node)]))
  const root = Part.root(node, tally)
  const resources = resourcesOf(root, options.prices === true)
  leaveTheRest(root)
  const left = tally.left.toSorted(byPlace)
  const notes = tally.notes.toSorted(byPlace)
  return { ok: true, imported: { yaml: written(resources, tally), resources, left, notes } }
}

/** The environment variables that the file refers to. */
function variablesIn(node: Node): readonly string[] {
  if (node.kind === 'map') return [...node.entries.values()].flatMap(({ value }) => variablesIn(value))
  if (node.kind === 'list') return node.items.flatMap(variablesIn)
  const variable = node.kind === 'scalar' ? variableIn(node.written) : undefined
  return variable === undefined ? [] : [variable]
}

function byPlace({ place: a }: UnconvertedField | Note, { place: b }: UnconvertedField | Note): number {
  return a.line - b.line || a.column - b.column
}

function resourcesOf(root: Part, usesPriceList: boolean): readonly Resource[] {
  const router = root.member('router_settings')
  const litellm = root.member('litellm_settings')
  const silence = silenceOf(router?.member('timeout')) ?? silenceOf(litellm?.member('request_timeout'))
  const shared = { credentials: credentialsOf(root), ...(silence !== undefined && { silence }) }
  const assembly = new Assembly(usesPriceList)
  for (const entry of root.member('model_list')?.items() ?? []) {
    const deployment = readDeployment(entry, shared)
    const problem = deployment && endpointProblem(deployment)
    if (problem !== undefined) entry.leave(`\`${deployment?.publication}\`: ${problem}`)
    else if (deployment) assembly.add(deployment)
  }
  const fallbacks = [router, litellm].flatMap(section => fallbacksIn(section?.member('fallbacks')))
  // An alias has the fallbacks of its model, and may have more.
  const ofModels = fallbacks.filter(([name]) => assembly.has(name))
  const ofOthers = fallbacks.filter(([name]) => !assembly.has(name))
  const aliases = router?.member('model_group_alias')
  const targets = new Map(aliases?.members().map(([name, part]) => [name, aliasTarget(part).text]))
  for (const [name, others] of ofModels) assembly.fallBack(name, others.items(), targets)
  carryAliases(aliases, assembly)
  for (const [name, others] of ofOthers) {
    if (assembly.has(name)) assembly.fallBack(name, others.items(), targets)
    else others.leave('no model of that name was imported')
  }
  noteOnProtocols(root, assembly)
  return [
    ...settingsOf(root.member('general_settings')),
    ...assembly.resources(),
    resource('tenant', IMPORTED_TENANT, {}),
    resource('key', IMPORTED_KEY, { kind: 'tenant', tenant: IMPORTED_TENANT }),
  ]
}

function credentialsOf(root: Part): ReadonlyMap<string, Credential> {
  const credentials = new Map<string, Credential>()
  for (const item of root.member('credential_list')?.items() ?? []) {
    const name = item.member('credential_name')
    const values = item.member('credential_values')
    if (name?.text === undefined || values === undefined) continue
    credentials.set(name.text, { name, values })
  }
  return credentials
}

/** `fallbacks: [{ a: [b, c] }]`: b, then c, if a has no usable endpoint. */
function fallbacksIn(fallbacks: Part | undefined): readonly (readonly [name: string, others: Part])[] {
  return fallbacks?.items().flatMap(item => item.members()) ?? []
}

function aliasTarget(alias: Part): Part {
  return alias.member('model') ?? alias
}

/** `model_group_alias: { other: name }`, or `{ other: { model: name, hidden: true } }`. */
function carryAliases(aliases: Part | undefined, assembly: Assembly): void {
  for (const [name, part] of aliases?.members() ?? []) {
    const target = aliasTarget(part)
    if (!isModelName(name)) part.leave('a name with `*` or spaces is not supported')
    else if (target.text !== undefined && assembly.alias(name, target.text)) target.keep()
    else part.leave('no model of that name was imported, or the alias is taken')
    part.member('hidden')?.leave('gw lists every callable model: `status: listed`')
  }
}

function settingsOf(general: Part | undefined): readonly Resource[] {
  const retention = general?.member('maximum_spend_logs_retention_period')
  if (retention?.text === undefined) return []
  const settings = { log: { retention: retention.text } }
  const { error } = KINDS.settings.safeParse(settings)
  if (error) return retention.leave(error.issues[0]?.message ?? 'gw has no such retention') ?? []
  retention.keep()
  return [resource('settings', 'settings', settings)]
}

function noteOnProtocols(root: Part, assembly: Assembly): void {
  const protocols = [...assembly.protocols()]
  const list = root.member('model_list') ?? root
  const anthropic = protocols.filter(([, of]) => of.has('anthropic')).map(([name]) => name)
  if (anthropic.length > 0) {
    list.note(`/v1/messages serves ${anthropic.join(', ')}: gw does not translate OpenAI requests for them`)
  }
}

/** Reports every unused field, at the highest unused level. */
function leaveTheRest(root: Part): void {
  const visit = (part: Part): void => {
    const { tally, path } = part
    if (tally.isLeft(path)) return
    const below = part.node.kind === 'list' ? part.items() : part.members().map(([, each]) => each)
    const isSection = path.length === 1 && SECTIONS.includes(String(path[0]))
    if (path.length === 0 || isSection || (tally.isKept(path) && below.length > 0))
      for (const each of below) visit(each)
    else if (!tally.isKept(path))
      part.leave(reasonFor(path.filter(step => typeof step === 'string').join('.')))
  }
  visit(root)
}

/** The file, with gw variables in the place of LiteLLM address variables. */
function written(resources: readonly Resource[], { addresses }: Tally): string {
  let yaml = render('default', resources)
  for (const [variable, address] of addresses) {
    yaml = yaml.replaceAll(address, () => `\${GW_${variable}:-${address}}`)
  }
  return yaml
}
