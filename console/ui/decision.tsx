import { Link } from '@tanstack/react-router'
import type { Shapes } from '../api/client.ts'
import { useSession } from '../api/context.ts'
import { State, type Tone } from './badges.tsx'
import { count, money, percent } from './format.ts'
import { Empty, Facts, Prose, Section } from './page.tsx'
import { Table } from './table.tsx'

const TONES: Readonly<Record<Shapes['why_check']['verdict'], Tone>> = {
  passes: 'good',
  rejects: 'bad',
  would_reject: 'warn',
  not_reached: 'off',
  assumed: 'off',
}

/** Either is empty for all of its kind. */
interface Asked {
  readonly key: string
  readonly model: string
}

/** Whether a call would be served, check by check. */
export function DecisionView({
  asked,
  explanation: { decision, unknown, models, keys },
}: {
  readonly asked: Asked
  readonly explanation: Shapes['explanation']
}) {
  const isAdmin = useSession().user.role === 'admin'
  const all =
    models?.map(({ model, ...short }) => ({ name: model, ...short })) ??
    keys?.map(({ key, ...short }) => ({ name: key, ...short }))
  if (all) return <ShortDecisions asked={asked} head={models ? 'Model' : 'Key'} rows={all} />
  if (!decision) return <Empty>No decision.</Empty>
  return (
    <>
      <Verdict decision={decision} />
      <Section title={isAdmin ? 'Checks' : 'Limits'} note="in their order">
        <Table
          label={isAdmin ? 'Checks of the call' : 'Limits of the call'}
          rows={decision.checks}
          keyOf={({ check }) => check}
          empty={isAdmin ? 'No check.' : 'No limit of the key or the account has a say in this call.'}
          columns={[
            { head: 'Check', cell: ({ check }) => check.replaceAll('_', ' ') },
            { head: 'Verdict', cell: ({ verdict }) => <State state={verdict} tone={TONES[verdict]} /> },
            { head: 'Detail', cell: ({ detail }) => <Prose text={detail} /> },
          ]}
        />
      </Section>
      {decision.candidates.length > 0 && (
        <Section title="Endpoints">
          <Table
            label="Endpoints for the call"
            rows={decision.candidates}
            keyOf={({ endpoint }) => endpoint}
            empty=""
            columns={[
              { head: 'Endpoint', cell: ({ endpoint }) => endpoint },
              { head: 'Health', cell: ({ health }) => <State state={health} /> },
              { head: 'Priority', cell: ({ priority }) => priority, isNumber: true },
              { head: 'Share', cell: ({ share }) => percent(share), isNumber: true },
              {
                head: 'Obstacle',
                cell: ({ obstacle, reason }) => reason ?? obstacle?.replaceAll('_', ' ') ?? '',
                hidden: 'phone',
              },
            ]}
          />
        </Section>
      )}
      {unknown.length > 0 && <p className="note">{unknown.join(' ')}</p>}
    </>
  )
}

type Short = Omit<NonNullable<Shapes['explanation']['models']>[number], 'model'>

/** The verdicts about each model of a key, or each key of a model. */
function ShortDecisions({
  asked,
  head,
  rows,
}: {
  readonly asked: Asked
  readonly head: 'Model' | 'Key'
  readonly rows: readonly (Short & { readonly name: string })[]
}) {
  return (
    <Table
      label="Verdicts"
      rows={rows}
      keyOf={({ name }) => name}
      empty="Nothing to decide about."
      columns={[
        {
          head,
          cell: ({ name }) => (
            <Link to="/why" search={{ ...asked, [head === 'Model' ? 'model' : 'key']: name }}>
              {name}
            </Link>
          ),
        },
        {
          head: 'Verdict',
          cell: ({ served }) => (
            <State state={served ? 'served' : 'rejected'} tone={served ? 'good' : 'bad'} />
          ),
        },
        { head: 'Path', cell: ({ path }) => <code>{path}</code>, hidden: 'tablet' },
        {
          head: 'Reason',
          cell: ({ rejection }) => rejection && <Prose text={`${rejection.status}: ${rejection.message}`} />,
          hidden: 'phone',
        },
      ]}
    />
  )
}

/** The verdict in one notice. */
export function Verdict({
  decision: { served, rejection, estimate, path },
}: {
  readonly decision: Shapes['decision']
}) {
  return (
    <div className={served ? 'notice good' : 'notice bad'} role="status">
      <p>
        <strong>
          {served ? (
            `Served at ${path}.`
          ) : (
            <Prose text={`Rejected with ${rejection?.status}: ${rejection?.message}`} />
          )}
        </strong>
      </p>
      {rejection?.hint !== undefined && (
        <p>
          <Prose text={rejection.hint} />
        </p>
      )}
      {estimate && (
        <Facts
          facts={[
            [
              'Reserved',
              `${money(estimate.amount)} for ${count(estimate.input_tokens)} + ${count(estimate.output_tokens)} tokens`,
            ],
          ]}
        />
      )}
    </div>
  )
}
