import { useState } from 'react'

const SHOWN_MS = 2_000

/** Copies a text, and says so. */
function CopyButton({
  text,
  label = 'Copy',
  onCopied,
}: {
  readonly text: string
  readonly label?: string
  readonly onCopied?: () => void
}) {
  const [state, setState] = useState<'idle' | 'copied' | 'failed'>('idle')
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
      setState('copied')
      onCopied?.()
    } catch {
      // A page without TLS on another host than this one has no clipboard: the text can be selected.
      setState('failed')
    }
    setTimeout(() => setState('idle'), SHOWN_MS)
  }
  const shown = { idle: label, copied: 'Copied', failed: 'Select the text and copy it' }[state]
  return (
    <button type="button" className="button" onClick={() => void copy()}>
      <span aria-live="polite">{shown}</span>
    </button>
  )
}

/** Text to copy, such as a command. */
export function Code({
  text,
  label,
  onCopied,
}: {
  readonly text: string
  readonly label: string
  readonly onCopied?: () => void
}) {
  return (
    <div className="code">
      {/* Focusable, so that the keyboard can scroll it. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <pre tabIndex={0} aria-label={label} role="group">
        {text}
      </pre>
      <CopyButton text={text} {...(onCopied && { onCopied })} />
    </div>
  )
}

/** A unified diff to copy, with its lines in colour and with their signs. */
export function Diff({ text }: { readonly text: string }) {
  const lines = text.replace(/\n$/, '').split('\n')
  return (
    <div className="code">
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <pre className="diff" tabIndex={0} aria-label="Diff" role="group">
        {lines.map((line, index) => (
          // The lines of a diff have no identity but their place.
          // oxlint-disable-next-line react/no-array-index-key
          <span key={index} className={toneOf(line)}>
            {line}
            {'\n'}
          </span>
        ))}
      </pre>
      <CopyButton text={text} label="Copy the patch" />
    </div>
  )
}

function toneOf(line: string): string {
  if (/^(---|\+\+\+|@@)/.test(line)) return 'note'
  if (line.startsWith('+')) return 'added'
  return line.startsWith('-') ? 'removed' : ''
}
