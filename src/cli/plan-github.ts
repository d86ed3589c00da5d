import type { BlastRadius } from '../changes/blast/types.ts'
import { verdict } from '../changes/blast/verdict.ts'
import type { Plan, ResourceChange } from '../changes/types.ts'
import { radiusToText } from './blast-text.ts'
import { workflowCommand } from './github.ts'
import { subjectText } from './plan-subject.ts'
import { changesToText } from './plan-text.ts'
import { styled } from './style.ts'

/**
 * A plan as annotations of a pull request: each change at the line that declares it, what goes away and what deserves a
 * second look as warnings, and the verdict last.
 */
export function planToGithub(plan: Plan, radius: BlastRadius): string {
  const places = new Map(plan.changes.map(change => [`${change.kind} ${change.name}`, change.place]))
  const warnings = plan.warnings.map(({ kind, name, message }) => {
    return workflowCommand('warning', { title: `${kind} ${name}`, ...places.get(`${kind} ${name}`) }, message)
  })
  const meant = [radiusToText(radius, styled(false)), verdict(plan, radius)].filter(text => text !== '')
  const isHarmful = radius.access.some(({ loses }) => loses.length > 0) || radius.unserved.length > 0
  const last = workflowCommand(isHarmful ? 'warning' : 'notice', { title: 'gw diff' }, meant.join('\n\n'))
  return [...plan.changes.map(annotated), ...warnings, last].join('')
}

/** Where a resource is no longer declared, the line is that of another one. */
function annotated(change: ResourceChange): string {
  const { action, place } = change
  const title = `${action} ${subjectText(change)}`
  if (action === 'delete') {
    const was = place === undefined ? '' : ` It was declared at ${place.file}:${place.line}.`
    return workflowCommand('warning', { title }, `It goes away.${was}`)
  }
  const [, ...fields] = changesToText([change], styled(false)).split('\n')
  const said = fields.map(line => line.trim()).join('\n')
  return workflowCommand('notice', { title, ...place }, said === '' ? title : said)
}
