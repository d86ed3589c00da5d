import { useInfiniteQuery, useMutation, useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { dataOf, type Shapes } from '../api/client.ts'
import { useConsole, useSession } from '../api/context.ts'
import { REFRESH_MS } from '../api/queries.ts'
import { AuditTrail } from '../ui/audit-trail.tsx'
import { State } from '../ui/badges.tsx'
import { ChangeButton } from '../ui/change-dialog.tsx'
import { ago, compact, count, milliseconds, percent } from '../ui/format.ts'
import { Labels } from '../ui/labels.tsx'
import { matchText } from '../ui/node-figures.ts'
import { useNow } from '../ui/now.ts'
import { Facts, Failure, Loaded, LoadedPage, Prose, Section } from '../ui/page.tsx'
import { ownerFacts, ResourceHead } from '../ui/resource-head.tsx'
import { PagedTable, Table } from '../ui/table.tsx'
import { ENDPOINT_FIELDS, ENDPOINT_VARIANTS } from './endpoint-fields.ts'

type Shown = Shapes['endpoint_shown']

const CRUMB = { label: 'Access Endpoints', to: '/endpoints' }

export function Endpoint() {
  const { name = '' } = useParams({ strict: false })
  const { queries } = useConsole()
  const endpoint = useQuery(queries.endpoint(name))
  return (
    <LoadedPage name={name} crumb={CRUMB} query={endpoint}>
      {found => <EndpointPage endpoint={found} />}
    </LoadedPage>
  )
}

function EndpointPage({ endpoint }: { readonly endpoint: Shown }) {
  const { name, enabled, updated_revision: version } = endpoint
  const { can } = useSession()
  const canEdit = can('update_endpoint')
  return (
    <>
      <ResourceHead
        kind="endpoint"
        resource={endpoint}
        crumb={CRUMB}
        canEdit={canEdit}
        fields={ENDPOINT_FIELDS}
        variants={ENDPOINT_VARIANTS}
        actions={
          canEdit && (
            <ChangeButton
              change={{ action: 'update', kind: 'endpoint', name, version, fields: { enabled: !enabled } }}
            >
              {enabled ? 'Disable' : 'Enable'}
            </ChangeButton>
          )
        }
      />
      <Health endpoint={endpoint} />
      <div className="columns">
        <Settings endpoint={endpoint} />
        <div>
          <Bindings endpoint={name} />
          {endpoint.nodes && can('list_nodes') && <NodesOfEndpoint endpoint={endpoint} />}
        </div>
      </div>
      <AuditTrail target={`endpoint/${name}`} />
    </>
  )
}

function Health({ endpoint: { name, enabled, health } }: { readonly endpoint: Shown }) {
  const { api, queries } = useConsole()
  const { can } = useSession()
  const now = useNow()
  const { data: live } = useQuery(queries.liveStats())
  const flow = live?.endpoints.find(each => each.name === name)
  const state = enabled ? (flow?.state ?? health?.state ?? 'unknown') : 'disabled'
  const since = flow?.since ?? health?.since
  const probing = useMutation({
    mutationFn: () =>
      dataOf(
        api.POST('/api/v1/endpoints/{name}/probe', { params: { path: { name }, query: { paths: true } } }),
      ),
  })
  return (
    <Section
      title="Health"
      actions={
        can('probe_endpoint') && (
          <button
            type="button"
            className="button"
            disabled={probing.isPending}
            title="One minimal request for each model, which costs a token or two"
            onClick={() => probing.mutate()}
          >
            {probing.isPending ? 'Probing…' : 'Probe'}
          </button>
        )
      }
    >
      <Facts
        facts={[
          ['State', <State key="state" state={state} />],
          ['Since', since ? ago(since, now) : undefined],
          ['Reason', flow?.reason ?? health?.reason],
          ['Requests per second', flow && count(flow.requests_per_second)],
          ['Tokens per second', flow && compact(flow.tokens_per_second)],
          ['p50 / p95', flow && `${milliseconds(flow.p50_ms)} / ${milliseconds(flow.p95_ms)}`],
          ['Failed attempts', flow && percent(flow.failed)],
        ]}
      />
      {probing.error && <Failure error={probing.error} />}
      {probing.data && <Probes probes={probing.data.probes} />}
    </Section>
  )
}

function Probes({ probes }: { readonly probes: readonly Shapes['probe'][] }) {
  return (
    <div role="status">
      <Table
        label="Probes"
        rows={probes}
        keyOf={({ model }) => model}
        empty="No model to probe."
        columns={[
          { head: 'Model', cell: ({ model }) => model },
          { head: 'Probe', cell: ({ state }) => <State state={state} /> },
          { head: 'Latency', cell: ({ latency_ms: ms }) => milliseconds(ms), isNumber: true },
          {
            head: 'Finding',
            cell: ({ cause, hint, reason, by, paths }) => (
              <>
                <Prose text={cause ?? findingOf(reason, by)} />
                {hint !== undefined && (
                  <span className="second">
                    <Prose text={hint} />
                  </span>
                )}
                {paths && <span className="second">serves {paths.join(', ')}</span>}
              </>
            ),
          },
        ]}
      />
    </div>
  )
}

function findingOf(reason: string | undefined, by: string | undefined): string {
  if (reason === 'skip_probe') return 'It is set never to be probed.'
  return reason ?? (by === undefined ? '' : `answered by ${by}`)
}

function Settings({ endpoint }: { readonly endpoint: Shown }) {
  const { upstream_key: credential, timeouts, labels } = endpoint
  return (
    <Section title="Settings">
      <Facts
        facts={[
          ...ownerFacts(endpoint),
          ['Protocol', endpoint.protocol],
          ['Base URL', endpoint.base_url !== undefined && <code key="url">{endpoint.base_url}</code>],
          ['Engine on nodes', endpoint.nodes?.engine],
          ['Nodes with labels', endpoint.nodes?.labels && <Labels key="by" labels={endpoint.nodes.labels} />],
          ['Nodes with names', endpoint.nodes?.names?.join(', ')],
          ['At a time on a node', endpoint.nodes && (endpoint.max_concurrency_per_node ?? 'unlimited')],
          ['Model at the upstream', <code key="model">{endpoint.served_model}</code>],
          ['Credential', credential ? sourceOf(credential) : 'none'],
          ['Requests at a time', endpoint.nodes ? undefined : (endpoint.max_concurrency ?? 'unlimited')],
          [
            'Timeouts',
            timeouts &&
              `connect ${timeouts.connect}, first byte ${timeouts.first_byte}, idle ${timeouts.idle}, total ${timeouts.total}`,
          ],
          ['Probed', !endpoint.nodes && (endpoint.skip_probe ? 'never' : 'yes')],
          ['Paths', endpoint.paths?.join(', ')],
          ['Labels', Object.keys(labels).length > 0 && <Labels key="labels" labels={labels} />],
          ['Last changed', `revision ${endpoint.updated_revision}`],
        ]}
      />
    </Section>
  )
}

/** The nodes that an endpoint chooses. */
function NodesOfEndpoint({ endpoint: { name, matched_nodes: matched } }: { readonly endpoint: Shown }) {
  const { queries } = useConsole()
  const nodes = useInfiniteQuery({ ...queries.nodes({ endpoint: name }), refetchInterval: REFRESH_MS })
  return (
    <Section title="Nodes" note={`matches ${matchText(matched)}`}>
      <PagedTable
        label="Nodes of this endpoint"
        query={nodes}
        keyOf={node => node.name}
        empty="No node that has joined matches: calls answer 503."
        columns={[
          {
            head: 'Node',
            cell: node => (
              <Link to="/nodes/$name" params={{ name: node.name }}>
                {node.name}
              </Link>
            ),
          },
          { head: 'State', cell: ({ state }) => <State state={state} /> },
          { head: 'Health', cell: node => <State state={onNode(node, name)?.state ?? 'unknown'} /> },
          { head: 'In flight', cell: node => count(onNode(node, name)?.in_flight ?? 0), isNumber: true },
        ]}
      />
    </Section>
  )
}

function onNode({ endpoints }: Shapes['node_shown'], endpoint: string) {
  return endpoints.find(({ name }) => name === endpoint)
}

function sourceOf({ env, file, stored, since }: NonNullable<Shown['upstream_key']>): string {
  if (stored) return `stored encrypted${since === undefined ? '' : ` since ${since.slice(0, 10)}`}`
  return env === undefined ? `file ${file}` : `variable ${env}`
}

function Bindings({ endpoint }: { readonly endpoint: string }) {
  const { queries } = useConsole()
  const bindings = useInfiniteQuery(queries.bindings({ endpoint }))
  return (
    <Section title="Serves">
      <Loaded query={bindings}>
        {rows => (
          <Table
            label="Models of this endpoint"
            rows={rows}
            keyOf={({ publication }) => publication}
            empty="No model is bound to it: it gets no calls. Bind one on the page of the model."
            columns={[
              {
                head: 'Model',
                cell: ({ publication }) => (
                  <Link to="/publications/$name" params={{ name: publication }}>
                    {publication}
                  </Link>
                ),
              },
              { head: 'Priority', cell: ({ priority }) => priority, isNumber: true },
              { head: 'Weight', cell: ({ weight }) => weight, isNumber: true },
            ]}
          />
        )}
      </Loaded>
    </Section>
  )
}
