import { pluralize } from '../../base/pluralize.ts'
import { textWidth } from '../../base/text-width.ts'
import type { Json, Resource } from '../../schema/kinds.ts'
import type { BlastRadius } from '../../services/changes/blast/types.ts'
import { breakage, verdict } from '../../services/changes/blast/verdict.ts'
import type { FieldChange, Plan, ResourceChange } from '../../services/changes/types.ts'
import type { SourceLine } from '../../store/types.ts'
import { accessText, radiusToText, subjectText } from './blast-text.ts'
import { workflowCommand } from './github.ts'
import { printable, type Style, styled } from './style.ts'

const SIGN = { create: '+', update: '~', delete: '-' } as const
const ORIGIN = {
  cli: 'created with the command line',
  rest: 'created through REST',
  config: 'declared in another set',
} as const
/** At most so many warnings of a kind are shown. */
const ALIKE = 5
const PAINT = { create: 'added', update: 'changed', delete: 'removed' } as const

type Declared = Pick<Resource, 'kind' | 'name'> & { readonly place: SourceLine }

/**
 * A plan for operators: the changes field by field, then the blast radius and warnings, and the verdict last, where it
 * is visible after a long list.
 *
 *     + endpoint openai                                  config/endpoints.yaml:4
 *         base_url     "https://api.openai.com/v1"
 *     ~ publication gpt-4o                               config/models.yaml:12
 *         price.input  "2.5" → "3"
 *     - key old-app                                      was config/keys.yaml:30
 *
 *     Blast radius:
 *         key app loses gpt-4o
 *
 *     warning this change breaks 1 key
 *
 *     1 to create, 1 to update, 1 to delete; breaks 1 key; nothing in use goes away
 */
export function planToText(plan: Plan, style: Style, radius?: BlastRadius): string {
  const head = plan.base === 0 ? 'nothing was applied yet' : `against revision ${plan.base}`
  const what = plan.restores === undefined ? `Set ${plan.set}` : `Back to revision ${plan.restores}`
  const blocks = [
    style.faint(`${what}, ${head}.`),
    changesToText(plan.changes, style),
    radius ? radiusToText(radius, style) : '',
    [...warningsToText(plan, radius, style), breakageToText(radius, style), unmanaged(plan)]
      .filter(line => line !== '')
      .join('\n'),
    style.strong(verdict(plan, radius)),
  ]
  return `${blocks.filter(block => block !== '').join('\n\n')}\n`
}

/**
 * A plan as annotations of a pull request: each change at the line that declares it; deletions, warnings of the plan and
 * broken keys as warnings; the verdict last.
 *
 * @param declared all resources of the files, changed or not.
 */
export function planToGithub(plan: Plan, radius: BlastRadius, declared: readonly Declared[]): string {
  const places = new Map(declared.map(({ kind, name, place }) => [`${kind} ${name}`, lineOf(place)]))
  const warnings = plan.warnings.map(({ kind, name, message, place }) =>
    workflowCommand('warning', { title: `${kind} ${name}`, ...(place && lineOf(place)) }, message),
  )
  const broken = radius.access
    .filter(({ loses }) => loses.length > 0)
    .map(change => {
      const place = change.keys.map(key => places.get(`key ${key}`)).find(found => found !== undefined)
      const title = `breaks ${change.keys.length === 1 ? 'a key' : `${change.keys.length} keys`}`
      return workflowCommand('warning', { title, ...place }, accessText(change, styled(false)))
    })
  const harm = breakage(radius)
  const summary = [radiusToText(radius, styled(false)), verdict(plan, radius)].filter(text => text !== '')
  const title = harm.length === 0 ? 'gw diff' : `gw diff: it ${harm.join(', ')}`
  const last = workflowCommand(harm.length > 0 ? 'warning' : 'notice', { title }, summary.join('\n\n'))
  return [...plan.changes.map(annotated), ...warnings, ...broken, last].join('')
}

/** Changes, field by field. */
export function changesToText(changes: readonly ResourceChange[], style: Style): string {
  const width = Math.min(
    60,
    changes.reduce((most, change) => Math.max(most, textWidth(title(change))), 0),
  )
  return changes.map(change => changeToText(change, width, style)).join('\n')
}

function title(change: ResourceChange): string {
  return `${SIGN[change.action]} ${subjectText(change)}`
}

function changeToText(change: ResourceChange, width: number, style: Style): string {
  const text = title(change)
  const where = placeToText(change)
  const gap = where && `${' '.repeat(Math.max(0, width - textWidth(text)))}  `
  const fieldWidth = Math.max(0, ...change.fields.map(field => field.path.length))
  const fields = change.fields.map(
    field => `    ${printable(field.path.padEnd(fieldWidth))}  ${fieldToText(field, change.action, style)}`,
  )
  const notes = [
    change.renamedFrom !== undefined && `${style.changed('renamed')} from ${printable(change.renamedFrom)}`,
    change.adoptedFrom &&
      `${style.changed('adopted')}: ${ORIGIN[change.adoptedFrom]}, owned by the files from now on`,
  ].flatMap(note => (note ? [`    ${note}`] : []))
  return [style[PAINT[change.action]](text) + style.faint(gap + where), ...notes, ...fields].join('\n')
}

/** The place in the files; for a deletion the place at the last apply. */
function placeToText({ action, place }: ResourceChange): string {
  if (!place) return ''
  return printable(`${action === 'delete' ? 'was ' : ''}${place.file}:${place.line}`)
}

function fieldToText(field: FieldChange, action: ResourceChange['action'], style: Style): string {
  if (field.type === 'secret')
    return action === 'create' ? '(secret reference)' : '(secret reference changed)'
  if (field.type === 'list') {
    return [
      ...field.added.map(item => style.added(`+ ${valueToText(item)}`)),
      ...field.removed.map(item => style.removed(`- ${valueToText(item)}`)),
    ].join('  ')
  }
  if (action === 'create') return valueToText(field.after)
  return `${valueToText(field.before)} → ${valueToText(field.after)}`
}

function valueToText(value: Json | undefined): string {
  return value === undefined ? '(not set)' : printable(JSON.stringify(value))
}

/** Without the warnings that the blast radius shows already; of many equal ones the first, and the number of the rest. */
function warningsToText(plan: Plan, radius: BlastRadius | undefined, style: Style): string[] {
  const shownAlready = new Set(radius?.unserved)
  const shown = plan.warnings.filter(({ code, name }) => code !== 'no_endpoint' || !shownAlready.has(name))
  const codes = [...new Set(shown.map(({ code }) => code))]
  return codes.flatMap(code => {
    const alike = shown.filter(warning => warning.code === code)
    const lines = alike.slice(0, alike.length > ALIKE + 1 ? ALIKE : alike.length)
    const rest = alike.length - lines.length
    const more = rest > 0 ? [`${style.changed('warning')} and ${rest} more like the last one`] : []
    return [...lines.map(warning => warningToText(warning, style)), ...more]
  })
}

function warningToText(warning: Plan['warnings'][number], style: Style): string {
  const { place } = warning
  const where = place ? style.faint(`  ${printable(`${place.file}:${place.line}`)}`) : ''
  return `${style.changed('warning')} ${subjectText(warning)}: ${printable(warning.message)}${where}`
}

function breakageToText(radius: BlastRadius | undefined, style: Style): string {
  const count = radius?.brokenKeys ?? 0
  if (count === 0) return ''
  return `${style.changed('warning')} this change ${style.removed(`breaks ${pluralize(count, 'key')}`)}`
}

function unmanaged(plan: Plan): string {
  const parts = [
    plan.unmanaged.otherSets > 0 && `${plan.unmanaged.otherSets} of other sets`,
    plan.unmanaged.cli > 0 && `${plan.unmanaged.cli} ${ORIGIN.cli}`,
    plan.unmanaged.rest > 0 && `${plan.unmanaged.rest} ${ORIGIN.rest}`,
  ].filter(part => part !== false)
  return parts.length === 0 ? '' : `Not managed here: ${parts.join(', ')}.`
}

/** A deletion has no line, because the former line now belongs to another resource. */
function annotated(change: ResourceChange): string {
  const { action, place } = change
  const title = `${action} ${subjectText(change)}`
  if (action === 'delete') {
    const was = place === undefined ? '' : ` It was declared at ${place.file}:${place.line}.`
    return workflowCommand('warning', { title }, `It goes away.${was}`)
  }
  const [, ...fields] = changesToText([change], styled(false)).split('\n')
  const said = fields.map(line => line.trim()).join('\n')
  return workflowCommand('notice', { title, ...(place && lineOf(place)) }, said === '' ? title : said)
}

function lineOf({ file, line }: SourceLine): SourceLine {
  return { file, line }
}
