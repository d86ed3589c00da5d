import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { dataOf } from '../api/client.ts'
import { useConsole, useSession } from '../api/context.ts'
import { Dialog } from '../ui/dialog.tsx'
import { clockTime } from '../ui/format.ts'
import { Failure, PageHead } from '../ui/page.tsx'
import { PlanView } from '../ui/preview.tsx'
import { PagedTable } from '../ui/table.tsx'

export function History() {
  const { queries } = useConsole()
  const { can } = useSession()
  const revisions = useInfiniteQuery(queries.revisions())
  const [chosen, setChosen] = useState<number>()
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
          { head: 'Revision', cell: ({ id }) => id },
          { head: 'When', cell: ({ created_at: at }) => clockTime(at) },
          { head: 'By', cell: ({ author, origin }) => author ?? origin },
          {
            head: 'From',
            cell: ({ origin, set }) => (set === undefined ? origin : `${origin}, set ${set}`),
            hidden: 'phone',
          },
          {
            head: 'Commit',
            cell: ({ git_commit: commit, dirty }) =>
              commit && <code>{commit.slice(0, 8) + (dirty ? ' +' : '')}</code>,
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
      {chosen !== undefined && <RollBack revision={chosen} onClose={() => setChosen(undefined)} />}
    </>
  )
}

function RollBack({ revision, onClose }: { readonly revision: number; readonly onClose: () => void }) {
  const { api } = useConsole()
  const client = useQueryClient()
  const rolling = useMutation({
    mutationFn: () => dataOf(api.POST('/api/v1/config/rollback', { body: { revision } })),
    onSuccess: () => client.invalidateQueries(),
  })
  const done = rolling.data
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
              disabled={rolling.isPending}
              onClick={() => rolling.mutate()}
            >
              Roll back
            </button>
          )}
        </>
      }
    >
      {rolling.error && <Failure error={rolling.error} />}
      {done ? (
        <>
          <PlanView plan={done.plan} />
          {done.followed_files && (
            <p className="notice warn">
              A gateway follows files: their next apply reverts this. Change the files as well.
            </p>
          )}
        </>
      ) : (
        <p>
          Makes a new revision with the resources of revision {revision}, of all owners. Secrets of keys that
          were deleted since then do not come back. Files that say otherwise win at their next apply.
        </p>
      )}
    </Dialog>
  )
}
