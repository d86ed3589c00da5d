import type { ReactNode } from 'react'

/** One figure of an overview. */
export function Tile({
  label,
  value,
  note,
}: {
  readonly label: string
  readonly value: string
  readonly note?: ReactNode
}) {
  return (
    <div className="tile">
      <span className="label">{label}</span>
      <span className="value">{value}</span>
      <span className="note">{note}</span>
    </div>
  )
}
