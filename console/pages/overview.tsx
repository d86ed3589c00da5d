import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Shapes } from '../api/client.ts'
import { useConsole, useSession } from '../api/context.ts'
import { Meter, State } from '../ui/badges.tsx'
import {
  ago,
  authorText,
  clockTime,
  compact,
  count,
  milliseconds,
  NONE,
  originText,
  percent,
  roundedMoney,
  sumOf,
} from '../ui/format.ts'
import { useNow } from '../ui/now.ts'
import { Empty, Loaded, PageHead, Section } from '../ui/page.tsx'
import { Table } from '../ui/table.tsx'
import { Tile } from '../ui/tile.tsx'

export function Overview() {
  const { can } = useSession()
  return can('get_pulse') ? <LiveOverview /> : <TenantOverview />
}

function LiveOverview() {
  const { queries } = useConsole()
  const { can } = useSession()
  const liveStats = useQuery(queries.liveStats())
  const status = useQuery(queries.status())
  return (
    <>
      <PageHead title="Overview">What the gateways do now.</PageHead>
      <Loaded query={status}>{({ problems }) => <Problems problems={problems} />}</Loaded>
      <Loaded query={liveStats}>
        {live => (
          <>
            {live.endpoints.length === 0 && can('create_endpoint') && (
              <div className="welcome">
                <h2>Nothing is configured yet</h2>
                <p>
                  Four steps lead from the address of a model server to an answered and billed call. Files can
                  do the same: <code>gw init</code> writes the first ones.
                </p>
                <Link className="button primary" to="/setup">
                  Set up a model
                </Link>
              </div>
            )}
            <Tiles live={live} status={status.data} />
            <div className="columns">
              <Gateways live={live} />
              <NearLimits live={live} />
            </div>
            <Traffic live={live} />
          </>
        )}
      </Loaded>
      <LastChanges />
    </>
  )
}

function Problems({ problems }: { readonly problems: readonly string[] }) {
  if (problems.length === 0) return null
  return (
    <ul className="notice bad" aria-label="Problems">
      {problems.map(problem => (
        <li key={problem}>{problem}</li>
      ))}
    </ul>
  )
}

/** Calls change the cost without an event, so it is read again after this time. */
const COST_MS = 30_000

function Tiles({
  live,
  status,
}: {
  readonly live: Shapes['live_stats']
  readonly status: Shapes['status'] | undefined
}) {
  const { total, endpoints } = live
  const { queries } = useConsole()
  const hour = status?.last_hour
  const now = useNow()
  const since = `${new Date(now).toISOString().slice(0, 10)}T00:00:00Z`
  const { data: today } = useQuery({ ...queries.usage({ by: 'day', since }), refetchInterval: COST_MS })
  const requests = endpoints.reduce((sum, { requests_per_second: rate }) => sum + rate, 0)
  const failed = endpoints.reduce(
    (sum, { requests_per_second: rate, failed: share }) => sum + rate * share,
    0,
  )
  const unhealthy = endpoints.filter(({ state }) => state === 'unhealthy').length
  return (
    <div className="tiles">
      <Tile
        label="Requests per second"
        value={count(total.requests_per_second)}
        note={requests > 0 && `${percent(failed / requests)} of attempts failed`}
      />
      <Tile label="Tokens per second" value={compact(total.tokens_per_second)} />
      <Tile label="In flight" value={count(total.in_flight)} />
      <Tile
        label="Rejected per second"
        value={total.rejected_per_second === null ? NONE : count(total.rejected_per_second)}
        note={total.rejected_per_second === null ? 'Needs METRICS_TOKEN' : undefined}
      />
      <Tile
        label="Endpoints"
        value={`${endpoints.length - unhealthy} / ${endpoints.length}`}
        note={unhealthy > 0 ? <State state={`${unhealthy} unhealthy`} tone="bad" /> : 'usable'}
      />
      <Tile
        label="Cost, today"
        value={today ? roundedMoney(sumOf(today.data.map(({ cost }) => cost)), today.currency) : NONE}
        note={hour && `${roundedMoney(hour.amount, hour.currency)} in the last hour`}
      />
    </div>
  )
}

function Gateways({ live: { gateways } }: { readonly live: Shapes['live_stats'] }) {
  const now = useNow()
  return (
    <Section title="Gateways">
      <Table
        label="Gateways"
        rows={gateways}
        keyOf={({ name }) => name}
        empty={
          <>
            No gateway serves this store: start one with <code>gw serve</code>.
          </>
        }
        columns={[
          { head: 'Gateway', cell: ({ name }) => name },
          {
            head: 'State',
            cell: ({ state, reasons }) => (
              <span title={reasons.join('\n')}>
                <State state={state} />
              </span>
            ),
          },
          {
            head: 'Revision',
            cell: ({ revision, behind }) => (behind ? `${revision}, behind` : revision),
            isNumber: true,
          },
          { head: 'In flight', cell: ({ in_flight: open }) => count(open), isNumber: true, hidden: 'phone' },
          {
            head: 'Started',
            cell: ({ started_at: at }) => (at === null ? NONE : ago(at, now)),
            hidden: 'tablet',
          },
        ]}
      />
    </Section>
  )
}

const LIMITS: Readonly<Record<string, string>> = {
  rpm: 'requests per minute',
  tpm: 'tokens per minute',
  quota: 'tokens in its life',
}

const NEAR = 0.5
const SHOWN_KEYS = 5

function NearLimits({ live: { keys } }: { readonly live: Shapes['live_stats'] }) {
  const near = keys.filter(({ limits }) => (limits[0]?.share ?? 0) >= NEAR).slice(0, SHOWN_KEYS)
  return (
    <Section title="Keys near a limit">
      {near.length === 0 ? (
        <Empty>No key has used half of a limit.</Empty>
      ) : (
        <ul className="meters">
          {near.map(({ name, limits }) => (
            <li key={name}>
              <Link to="/keys/$name" params={{ name }}>
                {name}
              </Link>
              {limits.slice(0, 1).map(({ limit, used, of, share }) => (
                <Meter
                  key={limit}
                  label={LIMITS[limit] ?? limit.replace('/', ' per ')}
                  used={used}
                  of={of}
                  share={share}
                />
              ))}
            </li>
          ))}
        </ul>
      )}
    </Section>
  )
}

const SHOWN_ROWS = 10

type EndpointStats = Shapes['live_stats']['endpoints'][number]

/** Unhealthy ones first, then those with the most traffic. */
function byUrgency(a: EndpointStats, b: EndpointStats): number {
  const isBad = ({ state }: EndpointStats) => Number(state === 'unhealthy')
  return isBad(b) - isBad(a) || b.requests_per_second - a.requests_per_second
}

function Traffic({ live: { endpoints, models } }: { readonly live: Shapes['live_stats'] }) {
  const busy = models.filter(({ requests_per_second: rate }) => rate > 0).slice(0, SHOWN_ROWS)
  const urgent = endpoints.toSorted(byUrgency).slice(0, SHOWN_ROWS)
  return (
    <div className="columns">
      <Section
        title="Endpoints"
        actions={
          endpoints.length > SHOWN_ROWS && <Link to="/endpoints">{`All ${count(endpoints.length)}`}</Link>
        }
      >
        <Table
          label="Traffic by endpoint"
          rows={urgent}
          keyOf={({ name }) => name}
          empty={
            <>
              There is no endpoint yet. <Link to="/endpoints">Create one</Link>.
            </>
          }
          columns={[
            {
              head: 'Endpoint',
              cell: ({ name }) => (
                <Link to="/endpoints/$name" params={{ name }}>
                  {name}
                </Link>
              ),
            },
            { head: 'State', cell: ({ state }) => <State state={state} /> },
            { head: 'Req/s', cell: row => count(row.requests_per_second), isNumber: true },
            { head: 'p95', cell: row => milliseconds(row.p95_ms), isNumber: true, hidden: 'phone' },
            { head: 'Failed', cell: row => percent(row.failed), isNumber: true, hidden: 'phone' },
          ]}
        />
      </Section>
      <Section title="Models">
        <Table
          label="Traffic by model"
          rows={busy}
          keyOf={({ name }) => name}
          empty="No calls in the last seconds."
          columns={[
            {
              head: 'Model',
              cell: ({ name }) => (
                <Link to="/publications/$name" params={{ name }}>
                  {name}
                </Link>
              ),
            },
            { head: 'Req/s', cell: row => count(row.requests_per_second), isNumber: true },
            { head: 'Tok/s', cell: row => compact(row.tokens_per_second), isNumber: true },
            { head: 'p95', cell: row => milliseconds(row.p95_ms), isNumber: true, hidden: 'phone' },
          ]}
        />
      </Section>
    </div>
  )
}

function LastChanges() {
  const { queries } = useConsole()
  const now = useNow()
  const revisions = useInfiniteQuery(queries.revisions())
  return (
    <Section title="Last changes">
      <Loaded query={revisions}>
        {rows => (
          <Table
            label="Last changes"
            rows={rows.slice(0, 6)}
            keyOf={({ id }) => String(id)}
            empty="Nothing was changed yet."
            columns={[
              { head: 'Revision', cell: ({ id }) => id },
              {
                head: 'When',
                cell: ({ created_at: at }) => (
                  <time dateTime={at} title={clockTime(at)}>
                    {ago(at, now)}
                  </time>
                ),
              },
              { head: 'By', cell: ({ author, origin }) => authorText(author, origin) },
              {
                head: 'From',
                cell: ({ set, origin }) => (set === undefined ? originText(origin) : `set ${set}`),
                hidden: 'phone',
              },
              {
                head: 'Changes',
                cell: ({ counts }) => `+${counts.create} ~${counts.update} −${counts.delete}`,
                isNumber: true,
              },
            ]}
          />
        )}
      </Loaded>
    </Section>
  )
}

/** What the users of a tenant see first: what they used, their keys and their models. */
function TenantOverview() {
  const { queries } = useConsole()
  const { user } = useSession()
  const { tenant = '' } = user
  const since = monthStart(useNow())
  const usage = useQuery(queries.usage({ by: 'day', since }))
  const wallet = useQuery(queries.wallet(tenant))
  const keys = useInfiniteQuery(queries.keys())
  const models = useInfiniteQuery(queries.models())
  const sum = (of: 'requests' | 'input_tokens' | 'output_tokens') =>
    usage.data?.data.reduce((total, row) => total + row[of], 0) ?? 0
  const cost = sumOf(usage.data?.data.map(row => row.cost) ?? [])
  return (
    <>
      <PageHead title={tenant}>What your keys do, and what it costs.</PageHead>
      <div className="tiles">
        <Tile
          label="Cost, this month"
          value={usage.data ? roundedMoney(cost, usage.data.currency) : NONE}
          note={<Link to="/usage">by day, model and key</Link>}
        />
        <Tile label="Calls, this month" value={compact(sum('requests'))} />
        <Tile
          label="Tokens, this month"
          value={compact(sum('input_tokens') + sum('output_tokens'))}
          note={`${compact(sum('input_tokens'))} in, ${compact(sum('output_tokens'))} out`}
        />
        {wallet.data?.billing === 'prepaid' && (
          <Tile
            label="Balance"
            value={roundedMoney(wallet.data.balance, wallet.data.currency)}
            note={<Link to="/wallet">Wallet</Link>}
          />
        )}
      </div>
      <div className="columns">
        <Section title="Keys" actions={<Link to="/keys">All keys</Link>}>
          <Loaded query={keys}>
            {rows => (
              <Table
                label="Keys"
                rows={rows.slice(0, 8)}
                keyOf={({ name }) => name}
                empty={
                  <>
                    There is no key yet. <Link to="/keys">Create one</Link>, or ask your operator.
                  </>
                }
                columns={[
                  {
                    head: 'Key',
                    cell: ({ name }) => (
                      <Link to="/keys/$name" params={{ name }}>
                        {name}
                      </Link>
                    ),
                  },
                  { head: 'State', cell: ({ state }) => <State state={state} /> },
                ]}
              />
            )}
          </Loaded>
        </Section>
        <Section title="Models" actions={<Link to="/models">All models</Link>}>
          <Loaded query={models}>
            {rows => (
              <Table
                label="Models"
                rows={rows.slice(0, 8)}
                keyOf={({ name }) => name}
                empty="No key may call a model yet."
                columns={[
                  { head: 'Model', cell: ({ name }) => name },
                  { head: 'By', cell: ({ owned_by: owner }) => owner ?? '' },
                ]}
              />
            )}
          </Loaded>
        </Section>
      </div>
    </>
  )
}

function monthStart(nowMs: number): string {
  const now = new Date(nowMs)
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1)).toISOString()
}
