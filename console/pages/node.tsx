import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import type { Shapes } from '../api/client.ts'
import { useConsole, useSession } from '../api/context.ts'
import { REFRESH_MS } from '../api/queries.ts'
import { AuditTrail } from '../ui/audit-trail.tsx'
import { State } from '../ui/badges.tsx'
import { ConfirmButton } from '../ui/confirm-button.tsx'
import { ago, clockTime, count, NONE, percent } from '../ui/format.ts'
import { Labels } from '../ui/labels.tsx'
import { inFlightOf } from '../ui/node-figures.ts'
import { useNow } from '../ui/now.ts'
import { Facts, LoadedPage, PageHead, Section } from '../ui/page.tsx'
import { Table } from '../ui/table.tsx'

type Shown = Shapes['node_shown']
type NodeAction = 'drain' | 'uncordon' | 'revoke'

const CRUMB = { label: 'Nodes', to: '/nodes' }
const WORDS: Readonly<Record<NodeAction, string>> = { drain: 'Drain', uncordon: 'Uncordon', revoke: 'Revoke' }
const QUESTIONS: Readonly<Record<NodeAction, string>> = {
  drain: 'It gets no new calls within a second, and those in flight end. It lasts until it is uncordoned.',
  uncordon: 'It gets calls again.',
  revoke:
    'Its credential ends, and within a second its connection with all calls on it. It can join again with a new token.',
}

export function Node() {
  const { name = '' } = useParams({ strict: false })
  const { queries } = useConsole()
  // A revoked node may not exist any more: repeating the query would get a 404.
  const [isRevoking, setRevoking] = useState(false)
  const node = useQuery({ ...queries.node(name), refetchInterval: REFRESH_MS, enabled: !isRevoking })
  return (
    <LoadedPage name={name} crumb={CRUMB} query={node}>
      {found => <NodePage node={found} onRevoking={setRevoking} />}
    </LoadedPage>
  )
}

interface NodeProps {
  readonly node: Shown
  readonly onRevoking: (isRevoking: boolean) => void
}

function NodePage({ node, onRevoking }: NodeProps) {
  const { name, state, declared: isDeclared, draining_since: drainingSince } = node
  const now = useNow()
  return (
    <>
      <PageHead title={name} crumbs={[CRUMB]} actions={<Actions node={node} onRevoking={onRevoking} />}>
        {node.address === undefined ? 'Not connected' : `Connected from ${node.address}`}
      </PageHead>
      <Section title="State">
        <Facts
          facts={[
            ['State', <State key="state" state={state} />],
            ['Draining', drainingSince && ago(drainingSince, now)],
            ['Connected', node.connected_at && ago(node.connected_at, now)],
            ['In flight', state === 'disconnected' ? undefined : count(inFlightOf(node))],
            ['Joined', clockTime(node.joined_at)],
            ['Declared', isDeclared ? 'in the configuration' : 'no: its labels are those of its join token'],
            ['Labels', Object.keys(node.labels).length > 0 && <Labels key="labels" labels={node.labels} />],
            ['Version of gw', node.version],
          ]}
        />
      </Section>
      <div className="columns">
        <Engines node={node} />
        <Endpoints node={node} />
      </div>
      <AuditTrail target={`node/${name}`} />
    </>
  )
}

function Actions({ node: { name, draining_since: drainingSince }, onRevoking }: NodeProps) {
  const { api } = useConsole()
  const { can } = useSession()
  const client = useQueryClient()
  const navigate = useNavigate()
  const act = async (question: NodeAction) => {
    onRevoking(question === 'revoke')
    try {
      await api.POST(`/api/v1/nodes/{name}/${question}`, { params: { path: { name } } })
    } catch (error) {
      onRevoking(false)
      throw error
    }
    if (question === 'revoke') await navigate({ to: '/nodes' })
    await client.invalidateQueries({ queryKey: ['nodes'] })
  }
  const ask = (question: NodeAction) =>
    can(`${question}_node`) && (
      <ConfirmButton
        key={question}
        word={WORDS[question]}
        title={`${WORDS[question]} ${name}`}
        isDangerous={question === 'revoke'}
        act={() => act(question)}
      >
        <p>{QUESTIONS[question]}</p>
      </ConfirmButton>
    )
  return (
    <>
      {ask(drainingSince === undefined ? 'drain' : 'uncordon')}
      {ask('revoke')}
    </>
  )
}

function Engines({ node: { engines = [], state } }: { readonly node: Shown }) {
  return (
    <Section title="Engines" note="model servers of the node, by its own reports">
      <Table
        label="Engines"
        rows={engines}
        keyOf={({ name }) => name}
        empty={state === 'disconnected' ? 'Known while it is connected.' : 'It offers no engine.'}
        columns={[
          {
            head: 'Engine',
            cell: ({ name, kind, models }) => (
              <>
                {name}
                {kind !== undefined && kind !== name && ` (${kind})`}
                <span className="second">{models.join(', ') || 'no models'}</span>
              </>
            ),
          },
          { head: 'State', cell: ({ state: is }) => <State state={is} /> },
          { head: 'Running', cell: ({ load }) => (load ? count(load.running) : NONE), isNumber: true },
          { head: 'Waiting', cell: ({ load }) => (load ? count(load.waiting) : NONE), isNumber: true },
          {
            head: 'Cache',
            cell: ({ load }) => (load?.cache === undefined ? NONE : percent(load.cache)),
            isNumber: true,
            hidden: 'phone',
          },
        ]}
      />
    </Section>
  )
}

function Endpoints({ node: { endpoints } }: { readonly node: Shown }) {
  return (
    <Section title="Serves" note="endpoints that choose it">
      <Table
        label="Endpoints of this node"
        rows={endpoints}
        keyOf={({ name }) => name}
        empty="No endpoint chooses it: it gets no calls. An endpoint chooses nodes by name or by labels."
        columns={[
          {
            head: 'Endpoint',
            cell: ({ name }) => (
              <Link to="/endpoints/$name" params={{ name }}>
                {name}
              </Link>
            ),
          },
          { head: 'Health here', cell: ({ state = 'unknown' }) => <State state={state} /> },
          {
            head: 'In flight',
            cell: ({ in_flight: inFlight }) => (inFlight === undefined ? NONE : count(inFlight)),
            isNumber: true,
          },
        ]}
      />
    </Section>
  )
}
