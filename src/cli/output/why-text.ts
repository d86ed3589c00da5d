import type { CandidateJson, CheckJson, DecisionJson, Explanation } from '../../services/why/to-json.ts'
import { type Glyphs, printable, type Style } from './style.ts'
import { type Column, table } from './table.ts'

/** An explanation as text: one call as a tree with the verdict last, several as a table. */
export function whyToText(
  explanation: Explanation,
  style: Style,
  glyphs: Glyphs,
  width: number | undefined,
): string {
  const { decision, models, keys } = explanation
  if (decision) return decisionToText(decision, explanation, style, glyphs)
  const listed = models
    ? listToText('MODEL', models, ({ model }) => model, style, glyphs, width)
    : listToText('KEY', keys ?? [], ({ key }) => key, style, glyphs, width)
  return listed + knowledge(explanation, style)
}

type Model = NonNullable<Explanation['models']>[number]
type Key = NonNullable<Explanation['keys']>[number]

/** A row for each call; below the table each hint once, with the names of the calls that it applies to. */
function listToText<Row extends Model | Key>(
  title: string,
  rows: readonly Row[],
  name: (row: Row) => string,
  style: Style,
  glyphs: Glyphs,
  width: number | undefined,
): string {
  const columns: Column<Row>[] = [
    { title, cell: name, narrowest: 12 },
    { title: 'LISTED', cell: ({ visible }) => (visible ? 'yes' : 'no') },
    {
      title: 'CALL',
      cell: ({ rejection }) => (rejection ? `${rejection.status} ${rejection.code}` : 'served'),
    },
    { title: 'PATH', cell: ({ path }) => path, narrowest: 8 },
  ]
  const hints = new Map<string, string[]>()
  for (const row of rows) {
    const hint = row.rejection?.hint
    if (hint !== undefined) hints.set(hint, [...(hints.get(hint) ?? []), name(row)])
  }
  const hintLines = [...hints].map(
    ([hint, names]) => `${style.strong(printable(names.join(', ')))} ${glyphs.next} ${printable(hint)}\n`,
  )
  return table(columns, rows, style, width) + (hintLines.length > 0 ? `\n${hintLines.join('')}` : '')
}

function decisionToText(
  decision: DecisionJson,
  explanation: Explanation,
  style: Style,
  glyphs: Glyphs,
): string {
  const { checks, candidates, model, path, key } = decision
  const who = key === undefined ? 'any key' : `key ${key}`
  const lines = [`${style.strong(printable(`${who}, model ${model}`))}, ${path}`]
  const nameWidth = Math.max(...checks.map(({ check }) => check.length))
  for (const [index, step] of checks.entries()) {
    const isLast = index === checks.length - 1 && candidates.length === 0
    lines.push(...stepToText(step, nameWidth, isLast, style, glyphs))
  }
  if (candidates.length > 0) {
    lines.push(`${glyphs.last}${style.strong('candidates')}`)
    const nameWidth = Math.max(...candidates.map(candidate => titleOf(candidate).length))
    for (const [index, candidate] of candidates.entries()) {
      const branch = index === candidates.length - 1 ? glyphs.last : glyphs.branch
      lines.push(`   ${branch}${candidateToText(candidate, nameWidth, style, glyphs)}`)
    }
  }
  return (
    [...lines, '', ...verdict(decision, style, glyphs)].map(line => `${line}\n`).join('') +
    knowledge(explanation, style)
  )
}

function stepToText(
  { check, verdict, detail, rejection, usage }: CheckJson,
  nameWidth: number,
  isLast: boolean,
  style: Style,
  glyphs: Glyphs,
): string[] {
  const branch = isLast ? glyphs.last : glyphs.branch
  const found = printable([detail, usage && usageToText(usage)].filter(Boolean).join(': '))
  const name = check.padEnd(nameWidth)
  switch (verdict) {
    case 'passes':
      return [`${branch}${style.added(glyphs.pass)} ${name}  ${found}`]
    case 'assumed':
      return [`${branch}${glyphs.assumed} ${name}  ${style.faint(`assumed: ${found}`)}`]
    case 'not_reached':
      return [`${branch}${style.faint(`${glyphs.skip} ${name}  ${found}`)}`]
    case 'rejects':
    case 'would_reject': {
      const paint = (text: string) => (verdict === 'rejects' ? style.fault(text) : style.changed(text))
      const error = rejection ? `${rejection.status} ${rejection.code}` : ''
      const condition = usage?.mode === 'shadow' ? 'if enforced' : 'if reached'
      const also = verdict === 'rejects' ? error : `${error}, ${condition}`
      const line = `${branch}${paint(glyphs.fail)} ${name}  ${paint(also)}  ${found}`
      const trunk = isLast ? '   ' : glyphs.trunk
      const hint = rejection?.hint
      return hint === undefined || verdict === 'rejects'
        ? [line]
        : [line, `${trunk}  ${' '.repeat(nameWidth)}  ${style.faint(printable(hint))}`]
    }
  }
}

function usageToText({
  limit,
  used,
  held,
  needed,
  fresh_at: freshAt,
}: NonNullable<CheckJson['usage']>): string {
  return [
    limit !== undefined && `limit ${limit}`,
    used !== undefined && `${limit === undefined ? 'balance' : 'used'} ${used}`,
    `held ${held}`,
    `needed ${needed}`,
    freshAt !== undefined && `fresh at ${freshAt}`,
  ]
    .filter(text => text !== false)
    .join(', ')
}

function titleOf({ endpoint, node }: CandidateJson): string {
  return node === undefined ? endpoint : `${endpoint} on ${node}`
}

function candidateToText(candidate: CandidateJson, nameWidth: number, style: Style, glyphs: Glyphs): string {
  const { priority, weight, health, obstacle, share, reason } = candidate
  const max = candidate.max_concurrency
  const facts = [
    `tier ${priority}`,
    `weight ${weight}`,
    health === 'unhealthy' && reason !== undefined ? `unhealthy: ${reason}` : health,
    `${candidate.in_flight}${max === undefined ? '' : ` of ${max}`} in flight`,
    candidate.cooldown_until !== undefined && `cooldown until ${candidate.cooldown_until}`,
    candidate.next_probe !== undefined && `tried again at ${candidate.next_probe}`,
  ].filter(text => text !== false)
  const name = titleOf(candidate).padEnd(nameWidth)
  const details = style.faint(printable(facts.join(', ')))
  if (obstacle !== undefined)
    return `${style.fault(glyphs.fail)} ${name}  ${style.fault(obstacle.replace('_', ' '))}  ${details}`
  if (share === 0) return `${glyphs.skip} ${name}  standby  ${details}`
  return `${style.added(glyphs.next)} ${name}  ${style.strong(`next: ${percent(share)}`)}  ${details}`
}

function verdict(
  { served, rejection, estimate, candidates, visible }: DecisionJson,
  style: Style,
  glyphs: Glyphs,
): string[] {
  const listed = visible ? 'listed in /v1/models' : 'not listed in /v1/models'
  if (served || !rejection) {
    const first = candidates.toSorted((a, b) => b.share - a.share)[0]
    const held =
      estimate && `holds ${estimate.input_tokens} + ${estimate.output_tokens} tokens and ${estimate.amount}`
    const facts = [listed, held, first && `next: ${first.endpoint}`].filter(Boolean).join('; ')
    return [`${style.added(`${glyphs.pass} served`)}  ${printable(facts)}`]
  }
  const { status, code, message, hint, retry_after_seconds: wait } = rejection
  const after = wait === undefined ? '' : `, retry after ${wait} s`
  return [
    `${style.fault(`${glyphs.fail} rejected`)}  ${style.strong(`${status} ${code}`)}${after}; ${listed}`,
    `  ${printable(message)}`,
    ...(hint === undefined ? [] : [`  ${glyphs.next} ${printable(hint)}`]),
  ]
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}

/** The source of the answer, and the facts that this source does not have. */
function knowledge({ source, revision, at, unknown }: Explanation, style: Style): string {
  const from = source === 'files' ? 'By files' : `By the ${source}, revision ${revision ?? 0}`
  const lines = [`${from}, at ${at}.`, ...unknown]
  return `\n${lines.map(line => `${style.faint(line)}\n`).join('')}`
}
