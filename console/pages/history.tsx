import {
  keepPreviousData,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query'
import { useState } from 'react'
import { dataOf } from '../api/client.ts'
import { useConsole, useSession } from '../api/context.ts'
import { Dialog } from '../ui/dialog.tsx'
import { TextField } from '../ui/fields.tsx'
import { authorText, clockTime, originText } from '../ui/format.ts'
import { Facts, Failure, Loaded, PageHead } from '../ui/page.tsx'
import { ChangeView, PlanView } from '../ui/preview.tsx'
import { PagedTable } from '../ui/table.tsx'

export function History() {
  const { queries } = useConsole()
  const { can } = useSession()
  const revisions = useInfiniteQuery(queries.revisions())
  const [chosen, setChosen] = useState<number>()
  const [open, setOpen] = useState<number>()
  const newest = revisions.data?.[0]?.id
  return (
    <>
      <PageHead title="History">Each change of the configuration is a revision.</PageHead>
      <PagedTable
        label="Revisions"
        query={revisions}
        keyOf={({ id }) => String(id)}
        empty="Nothing was changed yet."
        columns={[
          {
            head: 'Revision',
            cell: ({ id }) => (
              <button type="button" className="button link" onClick={() => setOpen(id)}>
                {id}
              </button>
            ),
          },
          { head: 'When', cell: ({ created_at: at }) => <span className="short">{clockTime(at)}</span> },
          {
            head: 'By',
            cell: ({ author, origin }) => <span className="anywhere">{authorText(author, origin)}</span>,
          },
          {
            head: 'From',
            cell: ({ origin, set }) => fromText(origin, set),
            hidden: 'phone',
          },
          {
            head: 'Commit',
            cell: ({ git_commit: commit, dirty }) =>
              commit && <code className="short">{commit.slice(0, 8) + (dirty ? ' +' : '')}</code>,
            hidden: 'tablet',
          },
          {
            head: 'Changes',
            cell: ({ counts }) => `+${counts.create} ~${counts.update} −${counts.delete}`,
            isNumber: true,
            hidden: 'phone',
          },
          {
            head: 'Actions',
            cell: ({ id }) =>
              can('roll_back') &&
              id !== newest && (
                <button type="button" className="button small" onClick={() => setChosen(id)}>
                  Roll back<span className="sr-only"> to {id}</span>
                </button>
              ),
          },
        ]}
      />
      {open !== undefined && <RevisionDialog revision={open} onClose={() => setOpen(undefined)} />}
      {chosen !== undefined && <RollBack revision={chosen} onClose={() => setChosen(undefined)} />}
    </>
  )
}

function fromText(origin: string, set: string | undefined): string {
  return set === undefined ? originText(origin) : `${originText(origin)}, set ${set}`
}

/** What a revision changed, or what differs from any other one. */
function RevisionDialog({ revision, onClose }: { readonly revision: number; readonly onClose: () => void }) {
  const { queries } = useConsole()
  const [since, setSince] = useState('')
  const shown = useQuery({
    ...queries.revision(revision, since === '' ? undefined : Number(since)),
    placeholderData: keepPreviousData,
  })
  return (
    <Dialog title={`Revision ${revision}`} isOpen isWide onClose={onClose}>
      <TextField
        label="Changes since revision"
        type="number"
        min={0}
        value={since}
        onChange={setSince}
        placeholder={String(shown.data?.base ?? '')}
        hint="Any other revision. Empty: the one before."
      />
      <Loaded query={shown}>
        {({ created_at: at, author, origin, set, git_commit: commit, changes }) => (
          <div className="stack">
            <Facts
              facts={[
                ['When', clockTime(at)],
                ['By', author ?? originText(origin)],
                ['From', fromText(origin, set)],
                ['Commit', commit && <code>{commit}</code>],
              ]}
            />
            <div className="plan">
              {changes.length === 0 && <p>No resource changed.</p>}
              {changes.map(change => (
                <ChangeView key={`${change.kind}/${change.name}`} change={change} />
              ))}
            </div>
          </div>
        )}
      </Loaded>
    </Dialog>
  )
}

/** The way back to a revision: its plan first, and then the change that was shown. */
function RollBack({ revision, onClose }: { readonly revision: number; readonly onClose: () => void }) {
  const { api } = useConsole()
  const client = useQueryClient()
  const planned = useQuery({
    queryKey: ['preview', 'rollback', revision],
    queryFn: () => dataOf(api.POST('/api/v1/config/rollback', { body: { revision, dry_run: true } })),
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
  })
  const rolling = useMutation({
    // The deletes are those of the plan that was shown.
    mutationFn: ({ base, counts }: { base: number; counts: { delete: number } }) => {
      const body = { revision, base, allow_deletes: counts.delete, dry_run: false }
      return dataOf(api.POST('/api/v1/config/rollback', { body }))
    },
    onSuccess: () => client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'preview' }),
  })
  const done = rolling.data
  const plan = planned.data?.plan
  return (
    <Dialog
      title={`Roll back to revision ${revision}`}
      isOpen
      isWide
      onClose={onClose}
      actions={
        <>
          <button type="button" className="button" onClick={onClose}>
            {done ? 'Close' : 'Cancel'}
          </button>
          {!done && (
            <button
              type="button"
              className="button danger"
              disabled={!plan || plan.changes.length === 0 || rolling.isPending}
              onClick={() => plan && rolling.mutate(plan)}
            >
              {rolling.isPending ? 'Rolling back…' : 'Roll back'}
            </button>
          )}
        </>
      }
    >
      {rolling.error && <Failure error={rolling.error} />}
      {done && (
        <p className="notice good" role="status">
          Revision {done.revision} has the resources of revision {revision}.
        </p>
      )}
      <Loaded query={planned}>
        {found => (
          <div className="plan">
            {found.followed_files && (
              <p className="notice warn">
                A gateway follows files: their next apply reverts this. Change the files as well.
              </p>
            )}
            {!done && (
              <p>
                Makes a new revision with the resources of revision {revision}, of all owners. Secrets of keys
                that were deleted since then do not come back. Files that say otherwise win at their next
                apply.
              </p>
            )}
            <PlanView plan={found.plan} />
          </div>
        )}
      </Loaded>
    </Dialog>
  )
}
