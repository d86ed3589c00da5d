import type { FieldChange, Plan, ResourceChange } from '../changes/types.ts'
import type { Json } from '../schema/kinds.ts'
import { printable, type Style } from './style.ts'
import { textWidth } from './table.ts'

const SIGN = { create: '+', update: '~', delete: '-' } as const
const PAINT = { create: 'added', update: 'changed', delete: 'removed' } as const

/**
 * A plan as an operator reads it: what would change, field by field, then what deserves a second look, and the
 * verdict last, where the eye is after a long list.
 *
 *     + endpoint openai                                  config/endpoints.yaml:4
 *         base_url     "https://api.openai.com/v1"
 *     ~ publication gpt-4o                               config/models.yaml:12
 *         price.input  "2.5" → "3"
 *     - key old-app                                      was config/keys.yaml:30
 *
 *     1 to create, 1 to update, 1 to delete
 */
export function planToText(plan: Plan, style: Style): string {
  const head = plan.base === 0 ? 'nothing was applied yet' : `against revision ${plan.base}`
  const width = Math.min(60, Math.max(0, ...plan.changes.map(change => textWidth(title(change)))))
  const blocks = [
    style.faint(`Set ${plan.set}, ${head}.`),
    plan.changes.map(change => changeToText(change, width, style)).join('\n'),
    [...plan.warnings.map(warning => warningToText(warning, style)), leftAlone(plan)]
      .filter(line => line !== '')
      .join('\n'),
    style.strong(verdict(plan)),
  ]
  return `${blocks.filter(block => block !== '').join('\n\n')}\n`
}

/** The counts, in the words of `gw apply`'s last line. */
function verdict(plan: Pick<Plan, 'counts'>): string {
  const { create, update, delete: remove } = plan.counts
  return `${create} to create, ${update} to update, ${remove} to delete`
}

/** `publication gpt-4o`, `binding gpt-4o → openai`, or `settings`, of which there is one. */
function subject(resource: { readonly kind: string; readonly name: string }): string {
  if (resource.kind === resource.name) return resource.kind
  const name = resource.kind === 'binding' ? resource.name.replace(' ', ' → ') : resource.name
  return printable(`${resource.kind} ${name}`)
}

function title(change: ResourceChange): string {
  return `${SIGN[change.action]} ${subject(change)}`
}

function changeToText(change: ResourceChange, width: number, style: Style): string {
  const text = title(change)
  const where = placeToText(change)
  const gap = where && `${' '.repeat(Math.max(0, width - textWidth(text)))}  `
  const fieldWidth = Math.max(0, ...change.fields.map(field => field.path.length))
  const fields = change.fields.map(
    field => `    ${printable(field.path.padEnd(fieldWidth))}  ${fieldToText(field, change.action, style)}`,
  )
  return [style[PAINT[change.action]](text) + style.faint(gap + where), ...fields].join('\n')
}

/** The place in the files; of what they no longer hold, where it was when it was last applied. */
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

function warningToText(warning: Plan['warnings'][number], style: Style): string {
  return `${style.changed('warning')} ${subject(warning)}: ${printable(warning.message)}`
}

function leftAlone(plan: Plan): string {
  const parts = [
    plan.leftAlone.otherSets > 0 && `${plan.leftAlone.otherSets} of other sets`,
    plan.leftAlone.cli > 0 && `${plan.leftAlone.cli} made with the command line`,
    plan.leftAlone.rest > 0 && `${plan.leftAlone.rest} made through REST`,
  ].filter(part => part !== false)
  return parts.length === 0 ? '' : `Left alone: ${parts.join(', ')}.`
}
