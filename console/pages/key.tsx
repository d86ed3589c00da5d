import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { dataOf, type Shapes } from '../api/client.ts'
import { useConsole, useSession } from '../api/context.ts'
import { AuditTrail } from '../ui/audit-trail.tsx'
import { Meter, Owner, State } from '../ui/badges.tsx'
import { ChangeButton } from '../ui/change-dialog.tsx'
import { ConfirmDialog } from '../ui/confirm-dialog.tsx'
import { ChoiceField } from '../ui/fields.tsx'
import { ago, count, day, money } from '../ui/format.ts'
import { useGatewayUrl } from '../ui/gateway-url.ts'
import { useNow } from '../ui/now.ts'
import { Empty, Facts, Failure, LoadedPage, PageHead, Section } from '../ui/page.tsx'
import { ResourceForm } from '../ui/resource-form.tsx'
import { CallExamples, SecretDialog } from '../ui/secret-dialog.tsx'
import { keyFields } from './key-fields.ts'

type Shown = Shapes['key_shown']

export function Key() {
  const { name = '' } = useParams({ strict: false })
  const { queries } = useConsole()
  const key = useQuery(queries.key(name))
  return (
    <LoadedPage name={name} crumb={{ label: 'API Keys', to: '/keys' }} query={key}>
      {found => <KeyPage shown={found} />}
    </LoadedPage>
  )
}

function KeyPage({ shown }: { readonly shown: Shown }) {
  const { name, owner, set, state, updated_revision: version } = shown
  const { queries } = useConsole()
  const { can, user } = useSession()
  const navigate = useNavigate()
  // The users of a tenant delete the keys that they could have created.
  const isDeletable =
    can('delete_key') && (user.role === 'admin' || (owner !== 'config' && name.startsWith(`${user.tenant}/`)))
  const [isEditing, setEditing] = useState(false)
  const tenants = useInfiniteQuery({ ...queries.tenants(), enabled: can('update_key') })
  const verb = owner === 'config' ? 'Patch' : 'Edit'
  return (
    <>
      <PageHead
        title={name}
        crumbs={[{ label: 'API Keys', to: '/keys' }]}
        actions={
          <>
            {can('update_key') && (
              <button type="button" className="button" onClick={() => setEditing(true)}>
                {verb}
              </button>
            )}
            {isDeletable && (
              <ChangeButton
                className="button danger"
                change={{ action: 'delete', kind: 'key', name, version }}
                onDone={() => void navigate({ to: '/keys' })}
              >
                Delete
              </ChangeButton>
            )}
          </>
        }
      >
        {shown.display_name}
      </PageHead>
      <Secret shown={shown} />
      <div className="columns">
        <Section title="Policy">
          <Facts
            facts={[
              ['State', <State key="state" state={state} />],
              ['Owner', <Owner key="owner" owner={owner} {...(set !== undefined && { set })} />],
              ['Declared in', shown.file !== undefined && <code>{`${shown.file}:${shown.line}`}</code>],
              ['Kind', shown.kind],
              ['Tenant', shown.tenant],
              ['Models', shown.models.join(', ') === '*' ? 'all' : shown.models.join(', ')],
              ['Expires', shown.expires_at && day(shown.expires_at)],
              ['Last changed', `revision ${version}`],
            ]}
          />
        </Section>
        <Limits shown={shown} />
      </div>
      <AuditTrail target={`key/${name}`} />
      {isEditing && (
        <ResourceForm
          kind="key"
          title={`${verb} ${name}`}
          fields={keyFields(tenants.data?.map(each => each.name) ?? []).filter(({ path }) => path !== 'kind')}
          resource={shown}
          onClose={() => setEditing(false)}
        />
      )}
    </>
  )
}

function Limits({ shown: { limits, quota, budget, spend } }: { readonly shown: Shown }) {
  const number = (limit: number | { readonly limit: number } | undefined) =>
    typeof limit === 'object' ? limit.limit : limit
  const tokens = typeof quota === 'object' ? quota.tokens : quota
  const rates = [
    ['Requests per minute', number(limits.rpm)],
    ['Tokens per minute', number(limits.tpm)],
    ['Requests at a time', number(limits.concurrency)],
  ] as const
  const hasLimit = rates.some(([, rate]) => rate !== undefined) || tokens !== undefined || budget
  return (
    <Section title="Limits and use">
      {spend && (
        <Facts
          facts={[
            ['Spent in its life', money(spend.amount, spend.currency)],
            ['Tokens in its life', count(spend.tokens)],
          ]}
        />
      )}
      {!hasLimit && <Empty>This key has no limit of its own.</Empty>}
      {budget && spend?.in_budget !== undefined && (
        <Meter
          label={`Budget per ${budget.per}`}
          used={money(spend.in_budget)}
          of={money(String(budget.amount), spend.currency)}
          share={Number(spend.in_budget) / Number(budget.amount)}
        />
      )}
      {tokens !== undefined && spend && (
        <Meter
          label="Tokens in its life"
          used={count(spend.tokens)}
          of={count(tokens)}
          share={spend.tokens / tokens}
        />
      )}
      <Facts
        facts={rates.map(([label, rate]) => [label, rate === undefined ? undefined : count(rate)] as const)}
      />
    </Section>
  )
}

type Question = 'rotate' | 'disable' | 'enable' | 'revoke'

const QUESTIONS: Readonly<Record<Question, string>> = {
  rotate: 'A new secret is made, and the older ones end. With a grace they still work for a while.',
  disable: 'The key stops working at once, whoever owns it, until it is enabled again.',
  enable: 'The key works again.',
  revoke: 'All secrets of the key end at once. Applications that use it get 401 from now on.',
}

const GRACES = [
  { value: '', label: 'none: older secrets end now' },
  { value: '1h', label: '1 hour' },
  { value: '24h', label: '24 hours' },
  { value: '168h', label: '7 days' },
]

/** The secret of a key: what works whoever owns the key. */
function Secret({ shown }: { readonly shown: Shown }) {
  const { name, state, secret, suspended_at: suspendedAt, models } = shown
  const { api } = useConsole()
  const { can } = useSession()
  const client = useQueryClient()
  const now = useNow()
  const gateway = useGatewayUrl()
  const [question, setQuestion] = useState<Question>()
  const [grace, setGrace] = useState('')
  const [issued, setIssued] = useState<string>()
  const path = { params: { path: { name } } }
  const acting = useMutation({
    mutationFn: async (act: Question | 'issue') => {
      if (act === 'issue') setIssued((await dataOf(api.POST('/api/v1/keys/{name}/issue', path))).secret)
      else if (act === 'rotate') {
        const body = grace === '' ? {} : { grace }
        setIssued((await dataOf(api.POST('/api/v1/keys/{name}/rotate', { ...path, body }))).secret)
      } else await api.POST(`/api/v1/keys/{name}/${act}`, path)
    },
    onSuccess: () => setQuestion(undefined),
    onSettled: () => client.invalidateQueries({ queryKey: ['keys'] }),
  })
  const ask = (act: Question, operation: string) =>
    can(operation) && (
      <button
        type="button"
        className={act === 'revoke' ? 'button danger' : 'button'}
        onClick={() => {
          acting.reset()
          setQuestion(act)
        }}
      >
        {WORDS[act]}
      </button>
    )
  return (
    <Section
      title="Secret"
      actions={
        <>
          {secret.active === 0 && secret.source === undefined && can('issue_key') && (
            <button
              type="button"
              className="button primary"
              disabled={acting.isPending}
              onClick={() => acting.mutate('issue')}
            >
              Issue
            </button>
          )}
          {secret.source === 'issued' && ask('rotate', 'rotate_key')}
          {state === 'suspended' ? ask('enable', 'enable_key') : ask('disable', 'disable_key')}
          {secret.active > 0 && ask('revoke', 'revoke_key')}
        </>
      }
    >
      {acting.error && question === undefined && <Failure error={acting.error} />}
      <Facts
        facts={[
          ['Made', secret.created_at ? ago(secret.created_at, now) : 'no secret yet'],
          [
            'From',
            secret.source &&
              { issued: 'issued here', hash: 'a hash in its policy', reference: 'a reference in files' }[
                secret.source
              ],
          ],
          [
            'Active secrets',
            secret.active > 1 ? `${secret.active}, until the grace of the rotation ends` : undefined,
          ],
          ['Disabled by hand', suspendedAt && ago(suspendedAt, now)],
        ]}
      />
      {question && (
        <ConfirmDialog
          title={`${WORDS[question]} ${name}`}
          word={WORDS[question]}
          isDangerous={question === 'revoke'}
          acting={acting}
          onConfirm={() => acting.mutate(question)}
          onClose={() => setQuestion(undefined)}
        >
          <p>{QUESTIONS[question]}</p>
          {question === 'rotate' && (
            <ChoiceField label="Grace" value={grace} options={GRACES} onChange={setGrace} />
          )}
        </ConfirmDialog>
      )}
      {issued !== undefined && (
        <SecretDialog title={`The secret of ${name}`} secret={issued} onClose={() => setIssued(undefined)}>
          <h3>How to use it</h3>
          <CallExamples secret={issued} model={modelFor(models)} gateway={gateway} />
        </SecretDialog>
      )}
      {state === 'no_secret' && (
        <p className="note">
          The key cannot be used until a secret is issued. <Link to="/keys">All keys</Link>
        </p>
      )}
    </Section>
  )
}

const WORDS: Readonly<Record<Question, string>> = {
  rotate: 'Rotate',
  disable: 'Disable',
  enable: 'Enable',
  revoke: 'Revoke',
}

/** A model for examples: the first exact name that the key may call. */
function modelFor(models: readonly string[]): string {
  return models.find(model => !model.includes('*')) ?? 'MODEL'
}
