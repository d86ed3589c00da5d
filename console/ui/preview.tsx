import type { Shapes } from '../api/client.ts'
import { Diff } from './copy.tsx'
import { money, NONE, pluralized } from './format.ts'
import { Prose } from './page.tsx'

type Plan = Shapes['plan']
type Radius = NonNullable<Plan['blast_radius']>

/** What a change would do: its fields, its effect on callers, and what to know about it. */
export function PlanView({ plan }: { readonly plan: Plan }) {
  const { changes, warnings, blast_radius: radius, verdict } = plan
  const effects = radius ? effectsOf(radius) : []
  return (
    <div className="plan">
      {verdict !== undefined && <p className="verdict">{verdict}</p>}
      {changes.length === 0 && <p>Nothing changes.</p>}
      {effects.length > 0 && (
        <ul className="notice warn" aria-label="Effect on callers">
          {effects.map(effect => (
            <li key={effect}>{effect}</li>
          ))}
        </ul>
      )}
      {warnings.length > 0 && (
        <ul className="notice" aria-label="Warnings">
          {warnings.map(({ kind, name, message }) => (
            <li key={`${kind}/${name}/${message}`}>
              {kind} {nameOf(kind, name)}: <Prose text={message} />
            </li>
          ))}
        </ul>
      )}
      {changes.map(change => (
        <ChangeView key={`${change.kind}/${change.name}`} change={change} />
      ))}
    </div>
  )
}

/** A resource as it is shown: a binding has two names. */
export function nameOf(kind: string, name: string): string {
  return kind === 'binding' ? name.replace(' ', ' → ') : name
}

const SIGNS = { create: '+', update: '~', delete: '−' } as const

/** One change, with its fields. */
export function ChangeView({
  change: { action, kind, name, fields },
}: {
  readonly change: Plan['changes'][number]
}) {
  return (
    <div className={`change ${action}`}>
      <p>
        <span className="sign" aria-hidden="true">
          {SIGNS[action]}
        </span>
        {action} {kind} <strong>{nameOf(kind, name)}</strong>
      </p>
      {fields.length > 0 && (
        <table aria-label={`Fields of ${kind} ${name}`}>
          <tbody>
            {fields.map(field => (
              <tr key={field.path}>
                <th scope="row">{field.path}</th>
                <td>{fieldText(field)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </div>
  )
}

function fieldText({
  type,
  before,
  after,
  added,
  removed,
}: Plan['changes'][number]['fields'][number]): string {
  if (type === 'secret') return 'a new secret'
  if (type === 'list')
    return [
      ...(removed ?? []).map(each => `− ${text(each)}`),
      ...(added ?? []).map(each => `+ ${text(each)}`),
    ].join('  ')
  return before === undefined ? text(after) : `${text(before)} → ${text(after)}`
}

function text(value: unknown): string {
  if (value === undefined || value === null) return NONE
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function effectsOf(radius: Radius): string[] {
  return [
    ...radius.access
      .filter(({ loses }) => loses.length > 0)
      .map(
        ({ keys, loses, loses_all: losesAll }) =>
          `${listed(keys)} ${keys.length === 1 ? 'loses' : 'lose'} ${listed(loses)}${losesAll ? ' and may call no model any more' : ''}.`,
      ),
    ...radius.unserved.map(name => `${name} loses its last usable endpoint: its calls will answer 503.`),
    ...radius.nodes.map(
      ({ endpoint, matches, loses }) =>
        `${endpoint} has ${matches.length === 0 ? 'no connected node' : `the nodes ${matches.join(', ')}`}${loses
          .map(
            ({ node, last_24h: { requests } }) =>
              `, loses ${node} (${pluralized(requests, 'request')} in 24 h)`,
          )
          .join('')}.`,
    ),
    ...radius.paths.map(
      ({ publication, loses }) => `${publication} is no longer served at ${listed(loses)}.`,
    ),
    ...radius.prices.map(
      ({ publication, part, before, after, percent }) =>
        `${publication}: ${part.replaceAll('_', ' ')} ${before === null ? 'free' : money(before)} → ${after === null ? 'free' : money(after)} ${radius.currency}${percent === undefined ? '' : ` (${percent > 0 ? '+' : ''}${percent} %)`}.`,
    ),
    ...radius.limits.map(
      ({ kind, name, limit, before, after, used }) =>
        `${kind} ${name}: ${limit} ${before ?? 'unlimited'} → ${after}, and ${used} were used.`,
    ),
    ...radius.goes_away.map(
      ({ kind, name, how, last_24h: day }) =>
        `${kind} ${name} is ${how}; it had ${pluralized(day.requests, 'request')} in the last 24 hours.`,
    ),
  ]
}

const SHOWN = 5

function listed(names: readonly string[]): string {
  const shown = names.slice(0, SHOWN).join(', ')
  return names.length > SHOWN ? `${shown} and ${names.length - SHOWN} more` : shown
}

/** The patch for what files own: the console never writes to files. */
export function PatchView({ preview }: { readonly preview: Shapes['change_preview'] }) {
  const { set, file, line, git_commit: commit, patch = '', patches_file: patchesFile } = preview
  return (
    <div className="patch">
      <p>
        Configuration files own this: set <strong>{set}</strong>
        {file !== undefined && (
          <>
            , <code>{line === undefined ? file : `${file}:${line}`}</code>
          </>
        )}
        {commit !== undefined && (
          <>
            , commit <code>{commit.slice(0, 8)}</code>
          </>
        )}
        . The console does not change it. Apply this patch with <code>git apply</code>, then run{' '}
        <code>gw apply</code>.
      </p>
      {patch === '' ? <p>Nothing changes.</p> : <Diff text={patch} />}
      {patchesFile === false && (
        <p className="notice">
          The file is not on the machine of the control plane, so the diff shows the resource alone: make the
          same change by hand.
        </p>
      )}
    </div>
  )
}
