import { Dialog as Base } from '@base-ui/react/dialog'
import { type ReactNode, useRef } from 'react'
import { Icon } from './icons.tsx'

const FIELDS = '.dialog-body :is(input, select, textarea):enabled'
const INVALID = '.dialog-body [aria-invalid="true"]'

/** A dialog over the page. When it closes, the focus returns to the element that had it. */
export function Dialog({
  title,
  isOpen,
  onClose,
  isSticky = false,
  isWide = false,
  children,
  actions,
}: {
  readonly title: string
  readonly isOpen: boolean
  readonly onClose: () => void
  /** Neither Escape nor a click outside closes it. */
  readonly isSticky?: boolean
  readonly isWide?: boolean
  readonly children: ReactNode
  readonly actions?: ReactNode
}) {
  const popup = useRef<HTMLDivElement>(null)
  return (
    <Base.Root
      open={isOpen}
      disablePointerDismissal={isSticky}
      onOpenChange={(open, details) => {
        if (open) return
        const isOutside = details.reason === 'outside-press'
        // A click beside a form would lose what is entered.
        const isForm = isOutside && popup.current?.querySelector(FIELDS) !== null
        if (isForm || (isSticky && details.reason === 'escape-key')) details.cancel()
        else onClose()
      }}
    >
      <Base.Portal>
        <Base.Backdrop className="backdrop" />
        <Base.Popup
          ref={popup}
          className={isWide ? 'dialog wide' : 'dialog'}
          // The focus begins at the first invalid field, or else at the first field; without this, at the close button.
          initialFocus={() =>
            popup.current?.querySelector<HTMLElement>(INVALID) ??
            popup.current?.querySelector<HTMLElement>(FIELDS) ??
            true
          }
        >
          <header>
            <Base.Title>{title}</Base.Title>
            {!isSticky && (
              <Base.Close className="button quiet" aria-label="Close">
                <Icon name="close" />
              </Base.Close>
            )}
          </header>
          <div className="dialog-body">{children}</div>
          {actions !== undefined && <footer className="actions">{actions}</footer>}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  )
}
