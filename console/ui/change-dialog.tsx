import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { type Change, deletionOf, previewOf, publisher } from '../api/changes.ts'
import { ApiFailure, type Shapes } from '../api/client.ts'
import { useConsole, useSession } from '../api/context.ts'
import { useOnce } from '../api/once.ts'
import { Dialog } from './dialog.tsx'
import { Facts, Failure, Loaded } from './page.tsx'
import { nameOf, PatchView, PlanView } from './preview.tsx'

export type FieldError = NonNullable<Shapes['problem']['errors']>[number]

function errorsOf(error: Error | null): readonly FieldError[] {
  return (error instanceof ApiFailure && error.problem.errors) || []
}

const TAKEN: FieldError = { pointer: '/name', detail: 'This name is taken.' }

const WORDS = { create: 'Create', update: 'Save', delete: 'Delete' } as const

/**
 * Shows what a change would do before it is made. What files own is not changed: there the dialog has the patch for
 * the file.
 *
 *     form ──▶ preview ──▶ save ──▶ done
 *       ▲         │          │
 *       └─────────┘ back     └──▶ the error, with the form
 */
export function ChangeDialog({
  change,
  onBack,
  onClose,
  onDone,
}: {
  readonly change: Change
  /** Returns to the form that the change comes from, with what is wrong in it. */
  readonly onBack?: (errors: readonly FieldError[]) => void
  readonly onClose: () => void
  readonly onDone?: () => void
}) {
  const { api } = useConsole()
  // The users of a tenant change only their own keys, which has no effect on others.
  const hasPreview = useSession().can('preview_change')
  const client = useQueryClient()
  const [make] = useState(() => publisher(api))
  const preview = useQuery({
    queryKey: ['preview', change.kind, change.name, change.action, change.fields],
    queryFn: () => previewOf(api, change),
    enabled: hasPreview,
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
  })
  const saving = useMutation({
    ...(change.action === 'delete' && { mutationKey: deletionOf(change.name) }),
    mutationFn: useOnce(() => make(change)),
    onSuccess: async () => {
      const isGone = (name: unknown) => change.action === 'delete' && name === change.name
      // Leaves the page of a deleted resource first: an event about the change would make it request the resource again.
      if (change.action === 'delete') onDone?.()
      await client.invalidateQueries({
        predicate: ({ queryKey }) => queryKey[0] !== 'preview' && !isGone(queryKey[1]),
      })
      onClose()
      if (change.action !== 'delete') onDone?.()
    },
  })
  // The preview is that of a patch: without a creation in it, there is one of this name.
  const isTaken =
    change.action === 'create' &&
    preview.data?.plan.changes.some(({ action }) => action === 'create') === false
  const isFileOwned = preview.data?.owner === 'config' && !isTaken
  const isEmpty = preview.data?.plan.changes.length === 0 && change.fields?.['upstream_key'] === undefined
  const word = WORDS[change.action]
  return (
    <Dialog
      title={`${isFileOwned ? 'Patch' : word} ${change.kind} ${nameOf(change.kind, change.name)}`}
      isOpen
      isWide
      onClose={onClose}
      actions={
        <>
          {onBack && (
            <button
              type="button"
              className="button"
              onClick={() => onBack(isTaken ? [TAKEN] : errorsOf(preview.error ?? saving.error))}
            >
              Back
            </button>
          )}
          <button type="button" className="button" onClick={onClose}>
            {isFileOwned ? 'Close' : 'Cancel'}
          </button>
          {!isFileOwned && (
            <button
              type="button"
              className={change.action === 'delete' ? 'button danger' : 'button primary'}
              disabled={(hasPreview && (!preview.data || isEmpty || isTaken)) || saving.isPending}
              onClick={() => saving.mutate()}
            >
              {saving.isPending ? 'Saving…' : word}
            </button>
          )}
        </>
      }
    >
      {saving.error && <Failure error={saving.error} />}
      {change.bindTo !== undefined && (
        <p>
          It is bound to the endpoint <strong>{change.bindTo}</strong> as soon as it is created.
        </p>
      )}
      {!hasPreview && <FieldsView change={change} />}
      {hasPreview && (
        <Loaded query={preview}>
          {found =>
            isTaken ? (
              <p className="notice bad">
                There is a {change.kind} {nameOf(change.kind, change.name)} already.
              </p>
            ) : (
              <>
                <PlanView plan={found.plan} />
                {change.fields?.['upstream_key'] !== undefined && !isFileOwned && (
                  <p className="note">
                    The credential for the upstream is stored encrypted, and never shown again.
                  </p>
                )}
                {isFileOwned && <PatchView preview={found} />}
              </>
            )
          }
        </Loaded>
      )}
    </Dialog>
  )
}

/** A change as it is sent, where there is no preview of it. */
function FieldsView({ change: { action, kind, name, fields = {} } }: { readonly change: Change }) {
  if (action === 'delete')
    return (
      <p>
        The {kind} {name} and its secrets end at once. Its usage stays on record.
      </p>
    )
  return (
    <Facts
      facts={[
        ['Name', name],
        ...Object.entries(fields).map(
          ([field, value]) =>
            [field.replaceAll('_', ' '), typeof value === 'string' ? value : JSON.stringify(value)] as const,
        ),
      ]}
    />
  )
}

/** A button that opens the preview of a change: of the one at the click, whatever becomes of the resource meanwhile. */
export function ChangeButton({
  change,
  className = 'button',
  onDone,
  children,
}: {
  readonly change: Change
  readonly className?: string
  readonly onDone?: () => void
  readonly children: ReactNode
}) {
  const [open, setOpen] = useState<Change>()
  return (
    <>
      <button type="button" className={className} onClick={() => setOpen(change)}>
        {children}
      </button>
      {open && <ChangeDialog change={open} onClose={() => setOpen(undefined)} {...(onDone && { onDone })} />}
    </>
  )
}
