/** A button that saves a table as a file for spreadsheets (RFC 4180). */
export function CsvButton({
  name,
  head,
  rows,
}: {
  /** Of the file, without its ending. */
  readonly name: string
  readonly head: readonly string[]
  readonly rows: () => readonly (readonly (string | number)[])[]
}) {
  const save = () => {
    const text = [head, ...rows()].map(row => `${row.map(cell).join(',')}\r\n`).join('')
    const url = URL.createObjectURL(new Blob([text], { type: 'text/csv' }))
    const link = document.createElement('a')
    link.href = url
    link.download = `${name}.csv`
    link.click()
    URL.revokeObjectURL(url)
  }
  return (
    <button type="button" className="button" onClick={save}>
      CSV
    </button>
  )
}

/** A cell. A name that a spreadsheet would take for a formula gets an apostrophe (OWASP, "CSV injection"). */
function cell(value: string | number): string {
  const text =
    typeof value === 'string' && /^[=+\-@\t\r]/.test(value) && Number.isNaN(Number(value))
      ? `'${value}`
      : String(value)
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
