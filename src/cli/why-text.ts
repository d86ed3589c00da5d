import type { Explanation, ToldCandidate, ToldDecision, ToldStep } from '../gateway/why/told.ts'
import type { Marks } from './marks.ts'
import { printable, type Style } from './style.ts'
import { type Column, table } from './table.ts'

/** An explanation for people: one call as a tree with the verdict last, several as a table. */
export function whyToText(
  explanation: Explanation,
  style: Style,
  marks: Marks,
  width: number | undefined,
): string {
  const { decision, models, keys } = explanation
  if (decision) return decisionToText(decision, explanation, style, marks)
  const listed = models
    ? listToText('MODEL', models, ({ model }) => model, style, marks, width)
    : listToText('KEY', keys ?? [], ({ key }) => key, style, marks, width)
  return listed + knowledge(explanation, style)
}

type Model = NonNullable<Explanation['models']>[number]
type Key = NonNullable<Explanation['keys']>[number]

/** A line for each, and below the table once what would mend those that are refused alike. */
function listToText<Row extends Model | Key>(
  title: string,
  rows: readonly Row[],
  name: (row: Row) => string,
  style: Style,
  marks: Marks,
  width: number | undefined,
): string {
  const columns: Column<Row>[] = [
    { title, cell: name, narrowest: 12 },
    { title: 'LISTED', cell: ({ visible }) => (visible ? 'yes' : 'no') },
    { title: 'CALL', cell: ({ refusal }) => (refusal ? `${refusal.status} ${refusal.code}` : 'served') },
    { title: 'PATH', cell: ({ path }) => path, narrowest: 8 },
  ]
  const mends = new Map<string, string[]>()
  for (const row of rows) {
    const mend = row.refusal?.mend
    if (mend !== undefined) mends.set(mend, [...(mends.get(mend) ?? []), name(row)])
  }
  const told = [...mends].map(
    ([mend, names]) => `${style.strong(printable(names.join(', ')))} ${marks.next} ${printable(mend)}\n`,
  )
  return table(columns, rows, style, width) + (told.length > 0 ? `\n${told.join('')}` : '')
}

function decisionToText(
  decision: ToldDecision,
  explanation: Explanation,
  style: Style,
  marks: Marks,
): string {
  const { checks, candidates, model, path, key } = decision
  const who = key === undefined ? 'somebody' : `key ${key}`
  const lines = [`${style.strong(printable(`${who}, model ${model}`))}, ${path}`]
  const nameWidth = Math.max(...checks.map(({ check }) => check.length))
  for (const [index, step] of checks.entries()) {
    const isLast = index === checks.length - 1 && candidates.length === 0
    lines.push(...stepToText(step, nameWidth, isLast, style, marks))
  }
  if (candidates.length > 0) {
    lines.push(`${marks.last}${style.strong('candidates')}`)
    const nameWidth = Math.max(...candidates.map(({ endpoint }) => endpoint.length))
    for (const [index, candidate] of candidates.entries()) {
      const branch = index === candidates.length - 1 ? marks.last : marks.branch
      lines.push(`   ${branch}${candidateToText(candidate, nameWidth, style, marks)}`)
    }
  }
  return (
    [...lines, '', ...verdict(decision, style, marks)].map(line => `${line}\n`).join('') +
    knowledge(explanation, style)
  )
}

function stepToText(
  { check, verdict, detail, refusal, figures }: ToldStep,
  nameWidth: number,
  isLast: boolean,
  style: Style,
  marks: Marks,
): string[] {
  const branch = isLast ? marks.last : marks.branch
  const found = printable([detail, figures && figuresToText(figures)].filter(Boolean).join(': '))
  const name = check.padEnd(nameWidth)
  switch (verdict) {
    case 'passes':
      return [`${branch}${style.added(marks.pass)} ${name}  ${found}`]
    case 'assumed':
      return [`${branch}${marks.assumed} ${name}  ${style.faint(`taken for granted: ${found}`)}`]
    case 'not_reached':
      return [`${branch}${style.faint(`${marks.skip} ${name}  ${found}`)}`]
    case 'refuses':
    case 'would_refuse': {
      const paint = (text: string) => (verdict === 'refuses' ? style.fault(text) : style.changed(text))
      const told = refusal ? `${refusal.status} ${refusal.code}` : ''
      const also = verdict === 'refuses' ? told : `${told}, were it reached`
      const line = `${branch}${paint(marks.fail)} ${name}  ${paint(also)}  ${found}`
      const trunk = isLast ? '   ' : marks.trunk
      const mend = refusal?.mend
      return mend === undefined || verdict === 'refuses'
        ? [line]
        : [line, `${trunk}  ${' '.repeat(nameWidth)}  ${style.faint(printable(mend))}`]
    }
  }
}

function figuresToText({
  limit,
  used,
  held,
  needed,
  fresh_at: freshAt,
}: NonNullable<ToldStep['figures']>): string {
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

function candidateToText(candidate: ToldCandidate, nameWidth: number, style: Style, marks: Marks): string {
  const { endpoint, priority, weight, health, obstacle, share, reason } = candidate
  const max = candidate.max_concurrency
  const facts = [
    `tier ${priority}`,
    `weight ${weight}`,
    health === 'unhealthy' && reason !== undefined ? `unhealthy: ${reason}` : health,
    `${candidate.in_flight}${max === undefined ? '' : ` of ${max}`} in flight`,
    candidate.resting_until !== undefined && `rests until ${candidate.resting_until}`,
    candidate.next_trial !== undefined && `tried again at ${candidate.next_trial}`,
  ].filter(text => text !== false)
  const name = endpoint.padEnd(nameWidth)
  const rest = style.faint(printable(facts.join(', ')))
  if (obstacle !== undefined) return `${style.fault(marks.fail)} ${name}  ${style.fault(obstacle)}  ${rest}`
  if (share === 0) return `${marks.skip} ${name}  stands by  ${rest}`
  return `${style.added(marks.next)} ${name}  ${style.strong(`next: ${percent(share)}`)}  ${rest}`
}

function verdict(
  { served, refusal, estimate, candidates, visible }: ToldDecision,
  style: Style,
  marks: Marks,
): string[] {
  const listed = visible ? 'listed in /v1/models' : 'not listed in /v1/models'
  if (served || !refusal) {
    const first = candidates.toSorted((a, b) => b.share - a.share)[0]
    const held =
      estimate && `holds ${estimate.input_tokens} + ${estimate.output_tokens} tokens and ${estimate.amount}`
    const facts = [listed, held, first && `next: ${first.endpoint}`].filter(Boolean).join('; ')
    return [`${style.added(`${marks.pass} served`)}  ${printable(facts)}`]
  }
  const { status, code, message, mend, retry_after_seconds: wait } = refusal
  const after = wait === undefined ? '' : `, retry after ${wait} s`
  return [
    `${style.fault(`${marks.fail} refused`)}  ${style.strong(`${status} ${code}`)}${after}; ${listed}`,
    `  ${printable(message)}`,
    ...(mend === undefined ? [] : [`  ${marks.next} ${printable(mend)}`]),
  ]
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}

/** What the answer was made of, and what it could not know. */
function knowledge({ source, revision, at, unknown }: Explanation, style: Style): string {
  const from = source === 'files' ? 'By files' : `By the ${source}, revision ${revision ?? 0}`
  const lines = [`${from}, at ${at}.`, ...unknown]
  return `\n${lines.map(line => `${style.faint(line)}\n`).join('')}`
}
