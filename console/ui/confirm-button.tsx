import { useMutation } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { useOnce } from '../api/once.ts'
import { ConfirmDialog } from './confirm-dialog.tsx'

/** A button that asks before it does something that takes effect at once. */
export function ConfirmButton({
  word,
  title,
  label = word,
  isDangerous = false,
  isSmall = false,
  act,
  children,
}: {
  /** Of the button in the dialog. */
  readonly word: string
  /** Of the dialog. */
  readonly title: string
  readonly label?: ReactNode
  readonly isDangerous?: boolean
  readonly isSmall?: boolean
  /** The dialog shows its error, and stays open then. */
  readonly act: () => Promise<unknown>
  /** What it does to callers. */
  readonly children: ReactNode
}) {
  const [isOpen, setOpen] = useState(false)
  const acting = useMutation({ mutationFn: useOnce(act), onSuccess: () => setOpen(false) })
  const classes = ['button', isSmall && 'small', isDangerous && 'danger']
  return (
    <>
      <button
        type="button"
        className={classes.filter(Boolean).join(' ')}
        onClick={() => {
          acting.reset()
          setOpen(true)
        }}
      >
        {label}
      </button>
      {isOpen && (
        <ConfirmDialog
          title={title}
          word={word}
          isDangerous={isDangerous}
          acting={acting}
          onConfirm={() => acting.mutate()}
          onClose={() => setOpen(false)}
        >
          {children}
        </ConfirmDialog>
      )}
    </>
  )
}
