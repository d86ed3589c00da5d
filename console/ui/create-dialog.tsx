import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { ApiFailure } from '../api/client.ts'
import { useOnce } from '../api/once.ts'
import { Dialog } from './dialog.tsx'
import { Failure } from './page.tsx'

/** Creates what has no plan, because it is no part of the configuration: users and tokens. */
export function CreateDialog<Created>({
  title,
  list,
  create,
  isComplete = true,
  onClose,
  onCreated,
  children,
}: {
  readonly title: string
  /** The first part of the keys of the queries that show it. */
  readonly list: string
  readonly create: () => Promise<Created>
  /** False: a field is still empty. */
  readonly isComplete?: boolean
  readonly onClose: () => void
  readonly onCreated: (created: Created) => void
  /** The fields, with the error that the server has for one. */
  readonly children: (errorOf: (pointer: string) => string | undefined) => ReactNode
}) {
  const client = useQueryClient()
  const createOnce = useOnce(create)
  const creating = useMutation({
    mutationFn: createOnce,
    onSuccess: async created => {
      await client.invalidateQueries({ queryKey: [list] })
      onCreated(created)
    },
  })
  const { error } = creating
  return (
    <Dialog title={title} isOpen onClose={onClose}>
      <form
        onSubmit={event => {
          event.preventDefault()
          creating.mutate()
        }}
      >
        <div className="stack">
          {error && <Failure error={error} />}
          {children(pointer => (error instanceof ApiFailure ? error.fieldError(pointer) : undefined))}
        </div>
        <footer className="actions">
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="button primary" disabled={creating.isPending || !isComplete}>
            Create
          </button>
        </footer>
      </form>
    </Dialog>
  )
}
