import type { Resource } from '../../schema/kinds.ts'
import type { BlastRadius } from '../../services/changes/blast/types.ts'
import { breakage, verdict } from '../../services/changes/blast/verdict.ts'
import type { Plan, ResourceChange } from '../../services/changes/types.ts'
import type { SourceLine } from '../../store/types.ts'
import { accessText, radiusToText } from './blast-text.ts'
import { workflowCommand } from './github.ts'
import { subjectText } from './plan-subject.ts'
import { changesToText } from './plan-text.ts'
import { styled } from './style.ts'

type Declared = Pick<Resource, 'kind' | 'name'> & { readonly place: SourceLine }

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
