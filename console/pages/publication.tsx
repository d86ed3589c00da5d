import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import type { Change } from '../api/changes.ts'
import type { Shapes } from '../api/client.ts'
import { useConsole, useSession } from '../api/context.ts'
import { AuditTrail } from '../ui/audit-trail.tsx'
import { State } from '../ui/badges.tsx'
import { ChangeButton, ChangeDialog } from '../ui/change-dialog.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { ChoiceField, TextField } from '../ui/fields.tsx'
import { percent, tokens } from '../ui/format.ts'
import { useNow } from '../ui/now.ts'
import { Empty, Facts, Loaded, LoadedPage, Section } from '../ui/page.tsx'
import { currentPrice, priceParts, pricesOf } from '../ui/price.ts'
import { ownerFacts, ResourceHead } from '../ui/resource-head.tsx'
import { Table } from '../ui/table.tsx'
import { publicationFields } from './publication-fields.ts'

type Shown = Shapes['publication_shown']
type Binding = Shapes['binding_shown']

const CRUMB = { label: 'Model Publishing', to: '/publications' }

export function Publication() {
  const { name = '' } = useParams({ strict: false })
  const { queries } = useConsole()
  const publication = useQuery(queries.publication(name))
  return (
    <LoadedPage name={name} crumb={CRUMB} query={publication}>
      {found => <PublicationPage publication={found} />}
    </LoadedPage>
  )
}

function PublicationPage({ publication }: { readonly publication: Shown }) {
  const { name, status, updated_revision: version } = publication
  const { can } = useSession()
  const canEdit = can('update_publication')
  const change = { action: 'update', kind: 'publication', name, version } as const
  return (
    <>
      <ResourceHead
        kind="publication"
        resource={publication}
        crumb={CRUMB}
        canEdit={canEdit}
        fields={publicationFields(Array.isArray(publication.price))}
        actions={
          <>
            {can('explain') && (
              <Link className="button" to="/why" search={{ model: name }}>
                Who may call it
              </Link>
            )}
            {canEdit &&
              (status === 'listed' ? (
                <ChangeButton change={{ ...change, fields: { status: 'unlisted' } }}>Unlist</ChangeButton>
              ) : (
                <ChangeButton change={{ ...change, fields: { status: 'listed' } }}>List</ChangeButton>
              ))}
          </>
        }
      />
      <Section title="Settings">
        <Facts
          facts={[
            ['Status', <State key="status" state={status} />],
            ...ownerFacts(publication),
            ['Owned by', publication.owned_by],
            ['Context window', tokens(publication.max_input_tokens)],
            ['Output to reserve', tokens(publication.max_output_tokens)],
            ['If a client disconnects', publication.on_disconnect],
            ['If an upstream fails', publication.on_upstream_error],
            ['Last changed', `revision ${version}`],
          ]}
        />
      </Section>
      <div className="columns">
        <Bindings publication={name} />
        <Prices publication={publication} />
      </div>
      <AuditTrail target={`publication/${name}`} />
    </>
  )
}

function Prices({ publication: { price } }: { readonly publication: Shown }) {
  const now = useNow()
  const { currency = '' } = useSession()
  const present = currentPrice(price, now)
  const coming = pricesOf(price).filter(({ from }) => from !== undefined && Date.parse(from) > now)
  return (
    <Section title="Price">
      {present ? (
        <Facts facts={priceParts(present, currency)} />
      ) : (
        <Empty>No price: its calls are free, and counted as unpriced.</Empty>
      )}
      {coming.map(next => (
        <div key={next.from}>
          <h3>From {next.from}</h3>
          <Facts facts={priceParts(next, currency)} />
        </div>
      ))}
    </Section>
  )
}

function Bindings({ publication }: { readonly publication: string }) {
  const { queries } = useConsole()
  const { can } = useSession()
  const { data: live } = useQuery(queries.liveStats())
  const bindings = useInfiniteQuery(queries.bindings({ publication }))
  const [open, setOpen] = useState<Binding | 'new'>()
  const states = new Map(live?.endpoints.map(({ name, state }) => [name, state]))
  return (
    <Section
      title="Endpoints"
      note="by priority; a share of the traffic within each"
      actions={
        can('create_binding') && (
          <button type="button" className="button" onClick={() => setOpen('new')}>
            Bind an endpoint
          </button>
        )
      }
    >
      <Loaded query={bindings}>
        {rows => (
          <Table
            label="Endpoints of this model"
            rows={rows.toSorted((a, b) => a.priority - b.priority || a.endpoint.localeCompare(b.endpoint))}
            keyOf={({ endpoint }) => endpoint}
            empty="No endpoint serves this model: its calls answer 503."
            columns={[
              {
                head: 'Endpoint',
                cell: ({ endpoint, served_model: model }) => (
                  <>
                    <Link to="/endpoints/$name" params={{ name: endpoint }}>
                      {endpoint}
                    </Link>
                    {model !== undefined && <span className="second">{model}</span>}
                  </>
                ),
              },
              {
                head: 'State',
                cell: ({ endpoint }) => <State state={states.get(endpoint) ?? 'unknown'} />,
                hidden: 'phone',
              },
              { head: 'Priority', cell: ({ priority }) => priority, isNumber: true },
              { head: 'Share', cell: row => percent(shareOf(row, rows)), isNumber: true },
              {
                head: 'Actions',
                cell: row =>
                  can('update_binding') && (
                    <button type="button" className="button small" onClick={() => setOpen(row)}>
                      {row.owner === 'config' ? 'Patch' : 'Edit'}
                      <span className="sr-only"> {row.endpoint}</span>
                    </button>
                  ),
              },
            ]}
          />
        )}
      </Loaded>
      {open !== undefined && (
        <BindingForm
          publication={publication}
          {...(open !== 'new' && { binding: open })}
          onClose={() => setOpen(undefined)}
        />
      )}
    </Section>
  )
}

/** The share of the traffic of its priority. */
function shareOf({ priority, weight }: Binding, all: readonly Binding[]): number {
  const total = all.reduce((sum, each) => (each.priority === priority ? sum + each.weight : sum), 0)
  return total === 0 ? 0 : weight / total
}

function BindingForm({
  publication,
  binding,
  onClose,
}: {
  readonly publication: string
  readonly binding?: Binding
  readonly onClose: () => void
}) {
  const { queries } = useConsole()
  const { data: names = [] } = useQuery(queries.endpointNames())
  const [endpoint, setEndpoint] = useState(binding?.endpoint ?? '')
  const [weight, setWeight] = useState(String(binding?.weight ?? 1))
  const [priority, setPriority] = useState(String(binding?.priority ?? 0))
  const [model, setModel] = useState(binding?.served_model ?? '')
  const [change, setChange] = useState<Change>()
  if (change) return <ChangeDialog change={change} onBack={() => setChange(undefined)} onClose={onClose} />
  const target = { kind: 'binding', name: `${publication} ${endpoint}` } as const
  const review = () => {
    const fields = {
      weight: Number(weight),
      priority: Number(priority),
      ...(model !== '' && { served_model: model }),
      ...(model === '' && binding?.served_model !== undefined && { served_model: null }),
    }
    setChange(
      binding
        ? { ...target, action: 'update', fields, version: binding.updated_revision }
        : { ...target, action: 'create', fields },
    )
  }
  return (
    <Dialog title={binding ? `${publication} → ${endpoint}` : 'Bind an endpoint'} isOpen onClose={onClose}>
      <form
        onSubmit={event => {
          event.preventDefault()
          review()
        }}
      >
        <div className="form">
          <ChoiceField
            label="Endpoint"
            value={endpoint}
            disabled={binding !== undefined}
            options={[...new Set(['', endpoint, ...names])].map(name => ({
              value: name,
              label: name || 'Choose …',
            }))}
            onChange={setEndpoint}
          />
          <TextField
            label="Weight"
            type="number"
            min={0}
            value={weight}
            onChange={setWeight}
            hint="Its part of the traffic within its priority."
          />
          <TextField
            label="Priority"
            type="number"
            min={0}
            value={priority}
            onChange={setPriority}
            hint="0 first; the next only if no endpoint of the earlier one is usable."
          />
          <TextField
            label="Model at the upstream"
            value={model}
            onChange={setModel}
            hint="Empty: that of the endpoint."
          />
        </div>
        <footer className="actions">
          {binding && (
            <button
              type="button"
              className="button danger"
              onClick={() => setChange({ ...target, action: 'delete', version: binding.updated_revision })}
            >
              Unbind
            </button>
          )}
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="button primary" disabled={endpoint === ''}>
            Review
          </button>
        </footer>
      </form>
    </Dialog>
  )
}
