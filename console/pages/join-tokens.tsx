import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { dataOf, type Shapes } from '../api/client.ts'
import { useConsole, useSession } from '../api/context.ts'
import { ConfirmButton } from '../ui/confirm-button.tsx'
import { Code } from '../ui/copy.tsx'
import { CreateDialog } from '../ui/create-dialog.tsx'
import { ChoiceField, Field, TextField } from '../ui/fields.tsx'
import { ago } from '../ui/format.ts'
import { reachableOrigin } from '../ui/gateway-url.ts'
import { Labels } from '../ui/labels.tsx'
import { useNow } from '../ui/now.ts'
import { Section } from '../ui/page.tsx'
import { pairsIn } from '../ui/pairs.ts'
import { SecretDialog } from '../ui/secret-dialog.tsx'
import { PagedTable } from '../ui/table.tsx'

type Issued = Shapes['issued_join_token']

/** Join tokens that can be used. */
export function JoinTokens() {
  const { api, queries } = useConsole()
  const { can } = useSession()
  const client = useQueryClient()
  const now = useNow()
  const tokens = useInfiniteQuery(queries.joinTokens())
  const revoke = async (id: string) => {
    await api.DELETE('/api/v1/join-tokens/{name}', { params: { path: { name: id } } })
    await client.invalidateQueries({ queryKey: ['join-tokens'] })
  }
  return (
    <Section title="Join tokens" note="that can still be used">
      <PagedTable
        label="Join tokens"
        query={tokens}
        keyOf={({ id }) => id}
        empty="There is no join token."
        columns={[
          {
            head: 'For',
            cell: ({ pattern, id }) => (
              <>
                {pattern}
                <span className="second">{id}</span>
              </>
            ),
          },
          { head: 'Labels', cell: ({ labels }) => <Labels labels={labels} />, hidden: 'phone' },
          { head: 'Uses left', cell: ({ uses_left: uses }) => uses, isNumber: true },
          { head: 'Expires', cell: ({ expires_at: at }) => ago(at, now) },
          { head: 'By', cell: ({ created_by: by }) => by ?? '', hidden: 'phone' },
          {
            head: 'Actions',
            cell: ({ id, pattern }) =>
              can('revoke_join_token') && (
                <ConfirmButton
                  word="Revoke"
                  title={`Revoke the token for ${pattern}`}
                  label={
                    <>
                      Revoke<span className="sr-only"> the token for {pattern}</span>
                    </>
                  }
                  isDangerous
                  isSmall
                  act={() => revoke(id)}
                >
                  <p>No node can join with it any more. Nodes that have joined stay.</p>
                </ConfirmButton>
              ),
          },
        ]}
      />
    </Section>
  )
}

/** Makes a join token, and shows it once with the command that uses it. */
export function NewJoinTokenButton() {
  const { can } = useSession()
  const [isCreating, setCreating] = useState(false)
  const [issued, setIssued] = useState<Issued>()
  if (!can('create_join_token')) return null
  return (
    <>
      <button type="button" className="button primary" onClick={() => setCreating(true)}>
        New join token
      </button>
      {isCreating && (
        <NewJoinToken
          onClose={() => setCreating(false)}
          onIssued={token => {
            setCreating(false)
            setIssued(token)
          }}
        />
      )}
      {issued && <IssuedJoinToken issued={issued} onClose={() => setIssued(undefined)} />}
    </>
  )
}

const SPANS = [
  { value: '1h', label: '1 hour' },
  { value: '1d', label: '1 day' },
  { value: '7d', label: '7 days' },
  { value: '30d', label: '30 days' },
]

function NewJoinToken({
  onClose,
  onIssued,
}: {
  readonly onClose: () => void
  readonly onIssued: (token: Issued) => void
}) {
  const { api } = useConsole()
  const [pattern, setPattern] = useState('')
  const [uses, setUses] = useState('1')
  const [span, setSpan] = useState('1h')
  const [labels, setLabels] = useState('')
  const create = () => {
    const body = { pattern, uses: Number(uses), expires_in: span, labels: pairsIn(labels) }
    return dataOf(api.POST('/api/v1/join-tokens', { body }))
  }
  return (
    <CreateDialog
      title="New join token"
      list="join-tokens"
      create={create}
      onClose={onClose}
      onCreated={onIssued}
    >
      {errorOf => (
        <>
          <TextField
            label="Name of the node"
            value={pattern}
            onChange={setPattern}
            required
            autoComplete="off"
            spellCheck={false}
            error={errorOf('/pattern')}
            hint="Or a pattern for many, such as gpu-*"
          />
          <TextField
            label="Uses"
            type="number"
            min={1}
            value={uses}
            onChange={setUses}
            required
            error={errorOf('/uses')}
            hint="How many nodes can join with it."
          />
          <ChoiceField label="Valid for" value={span} options={SPANS} onChange={setSpan} />
          <Field
            label="Labels"
            hint="One a line: name: value. Only for nodes that the configuration does not declare, where it admits them."
          >
            {control => (
              <textarea
                {...control}
                rows={2}
                value={labels}
                onChange={event => setLabels(event.target.value)}
              />
            )}
          </Field>
        </>
      )}
    </CreateDialog>
  )
}

function IssuedJoinToken({ issued, onClose }: { readonly issued: Issued; readonly onClose: () => void }) {
  const { pattern, server } = issued
  const name = pattern.includes('*') ? 'NAME' : pattern
  const address = server === undefined ? 'https://GATEWAY:8095' : reachableOrigin(server)
  const command = `echo '${issued.token}' | gw node join --server ${address} --name ${name} --engine http://127.0.0.1:8000 --token-file -`
  return (
    <SecretDialog title={`The join token for ${pattern}`} secret={issued.token} onClose={onClose}>
      <h3>On the machine of the node</h3>
      <Code label="Command" text={command} />
      <p className="note">
        It joins, and offers the model server at <code>--engine</code>. Afterwards the node has a credential
        of its own, and the token is used up.
      </p>
      {server === undefined && (
        <p className="notice warn">
          The gateway of this control plane does not listen for nodes: start it with{' '}
          <code>--node-listen</code>.
        </p>
      )}
    </SecretDialog>
  )
}
