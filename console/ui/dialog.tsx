import { Dialog as Base } from '@base-ui/react/dialog'
import { type ReactNode, useRef } from 'react'
import { Icon } from './icons.tsx'

const FIELDS = '.dialog-body :is(input, select, textarea):enabled'
const WRONG = '.dialog-body [aria-invalid="true"]'

/** A dialog over the page. The focus returns to where it was. */
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
        if (isSticky && details.reason === 'escape-key') details.cancel()
        else onClose()
      }}
    >
      <Base.Portal>
        <Base.Backdrop className="backdrop" />
        <Base.Popup
          ref={popup}
          className={isWide ? 'dialog wide' : 'dialog'}
          // A form begins with a field that is wrong, or its first one, not with the button that closes it.
          initialFocus={() =>
            popup.current?.querySelector<HTMLElement>(WRONG) ??
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
