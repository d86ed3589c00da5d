import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { dataOf, type Shapes } from '../api/client.ts'
import { useConsole, useSession } from '../api/context.ts'
import { useOnce } from '../api/once.ts'
import { AuditTrail } from '../ui/audit-trail.tsx'
import { Meter, State } from '../ui/badges.tsx'
import { ConfirmButton } from '../ui/confirm-button.tsx'
import { ChoiceField } from '../ui/fields.tsx'
import { ago, count, day, lastUse, modelsText, money } from '../ui/format.ts'
import { useGatewayUrl } from '../ui/gateway-url.ts'
import { useNow } from '../ui/now.ts'
import { Empty, Facts, Failure, LoadedPage, Section } from '../ui/page.tsx'
import { ownerFacts, ResourceHead } from '../ui/resource-head.tsx'
import { CallExamples, SecretDialog } from '../ui/secret-dialog.tsx'
import { keyFields } from './key-fields.ts'

type Shown = Shapes['key_shown']

const CRUMB = { label: 'API Keys', to: '/keys' }

export function Key() {
  const { name = '' } = useParams({ strict: false })
  const { queries } = useConsole()
  const key = useQuery(queries.key(name))
  return (
    <LoadedPage name={name} crumb={CRUMB} query={key}>
      {found => <KeyPage shown={found} />}
    </LoadedPage>
  )
}

function KeyPage({ shown }: { readonly shown: Shown }) {
  const { name, owner, state } = shown
  const { queries } = useConsole()
  const { can, user } = useSession()
  const now = useNow()
  // The users of a tenant delete the keys that they could have created.
  const isDeletable = user.role === 'admin' || (owner !== 'config' && name.startsWith(`${user.tenant}/`))
  const tenants = useInfiniteQuery({ ...queries.tenants(), enabled: can('update_key') })
  return (
    <>
      <ResourceHead
        kind="key"
        resource={shown}
        crumb={CRUMB}
        canEdit={can('update_key')}
        canDelete={can('delete_key') && isDeletable}
        fields={keyFields(tenants.data?.map(each => each.name) ?? []).filter(({ path }) => path !== 'kind')}
      />
      <Secret shown={shown} />
      <div className="columns">
        <Section title="Policy">
          <Facts
            facts={[
              ['State', <State key="state" state={state} />],
              ...ownerFacts(shown),
              ['Kind', shown.kind],
              ['Tenant', shown.tenant],
              ['Models', modelsText(shown.models)],
              ['Expires', shown.expires_at && `${day(shown.expires_at)}, ${ago(shown.expires_at, now)}`],
              ['Last changed', `revision ${shown.updated_revision}`],
            ]}
          />
        </Section>
        <Limits shown={shown} />
      </div>
      <AuditTrail target={`key/${name}`} />
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

const QUESTIONS = {
  rotate: 'A new secret is made, and the older ones end. With a grace they still work for a while.',
  disable: 'The key stops working at once, until it is enabled again, even if files own it.',
  enable: 'The key works again.',
  revoke: 'All secrets of the key end at once. Applications that use it get 401 from now on.',
} as const
type Question = keyof typeof QUESTIONS

const WORDS: Readonly<Record<Question, string>> = {
  rotate: 'Rotate',
  disable: 'Disable',
  enable: 'Enable',
  revoke: 'Revoke',
}

const GRACES = [
  { value: '', label: 'none: older secrets end now' },
  { value: '1h', label: '1 hour' },
  { value: '24h', label: '24 hours' },
  { value: '168h', label: '7 days' },
]

const SOURCES = { issued: 'issued here', hash: 'a hash in its policy', reference: 'a reference in files' }

/** The secret of a key, and the operations that are allowed whatever the owner of the key is. */
function Secret({ shown }: { readonly shown: Shown }) {
  const { name, state, secret, suspended_at: suspendedAt, last_used_at: usedAt, models } = shown
  const { api } = useConsole()
  const { can } = useSession()
  const client = useQueryClient()
  const now = useNow()
  const gateway = useGatewayUrl()
  const [grace, setGrace] = useState('')
  const [issued, setIssued] = useState<string>()
  const path = { params: { path: { name } } }
  const used = usedAt === undefined ? 'not within 30 days' : lastUse(usedAt, now)
  const read = () => client.invalidateQueries({ queryKey: ['keys'] })
  const issue = useOnce(() => dataOf(api.POST('/api/v1/keys/{name}/issue', path)))
  const issuing = useMutation({
    mutationFn: issue,
    onSuccess: made => setIssued(made.secret),
    onSettled: read,
  })
  const act = async (question: Question) => {
    if (question === 'rotate') {
      const body = grace === '' ? {} : { grace }
      setIssued((await dataOf(api.POST('/api/v1/keys/{name}/rotate', { ...path, body }))).secret)
    } else await api.POST(`/api/v1/keys/{name}/${question}`, path)
    await read()
  }
  const ask = (question: Question, operation: string) =>
    can(operation) && (
      <ConfirmButton
        key={question}
        word={WORDS[question]}
        title={`${WORDS[question]} ${name}`}
        isDangerous={question === 'revoke'}
        act={() => act(question)}
      >
        <p>{QUESTIONS[question]}</p>
        {question !== 'enable' && <p className="note">Last used: {used}.</p>}
        {question === 'rotate' && (
          <ChoiceField label="Grace" value={grace} options={GRACES} onChange={setGrace} />
        )}
      </ConfirmButton>
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
              disabled={issuing.isPending}
              onClick={() => issuing.mutate()}
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
      {issuing.error && <Failure error={issuing.error} />}
      <Facts
        facts={[
          ['Made', secret.created_at ? ago(secret.created_at, now) : 'no secret yet'],
          ['From', secret.source && SOURCES[secret.source]],
          ['Last used', used],
          [
            'Active secrets',
            secret.active > 1 ? `${secret.active}, until the grace of the rotation ends` : undefined,
          ],
          ['Disabled by hand', suspendedAt && ago(suspendedAt, now)],
        ]}
      />
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

/** A model for examples: the first exact name that the key may call. */
function modelFor(models: readonly string[]): string {
  return models.find(model => !model.includes('*')) ?? 'MODEL'
}
