import type { ReactNode } from 'react'
import { Dialog } from './dialog.tsx'
import { Failure } from './page.tsx'

/** Asks before something is done that takes effect at once. */
export function ConfirmDialog({
  title,
  word,
  isDangerous = false,
  acting,
  onConfirm,
  onClose,
  children,
}: {
  readonly title: string
  /** The button that does it. */
  readonly word: string
  readonly isDangerous?: boolean
  readonly acting: { readonly error: Error | null; readonly isPending: boolean }
  readonly onConfirm: () => void
  readonly onClose: () => void
  readonly children: ReactNode
}) {
  return (
    <Dialog
      title={title}
      isOpen
      onClose={onClose}
      actions={
        <>
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button
            type="button"
            className={isDangerous ? 'button danger' : 'button primary'}
            disabled={acting.isPending}
            onClick={onConfirm}
          >
            {word}
          </button>
        </>
      }
    >
      {acting.error && <Failure error={acting.error} />}
      {children}
    </Dialog>
  )
}
