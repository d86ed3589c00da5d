import type { UseInfiniteQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Failure } from './page.tsx'

export interface Column<Row> {
  readonly head: string
  readonly cell: (row: Row) => ReactNode
  /** Numbers are aligned by their last digit. */
  readonly isNumber?: boolean
  /** Left out on narrow screens: `tablet` and below, or `phone` alone. */
  readonly hidden?: 'tablet' | 'phone'
}

/** A table. Its first column names the row. */
export function Table<Row>({
  label,
  columns,
  rows,
  keyOf,
  empty,
}: {
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
  /** In place of a table without rows. */
  readonly empty: ReactNode
}) {
  if (rows.length === 0) return <div className="empty">{empty}</div>
  const classes = columns.map(({ isNumber, hidden }) =>
    [isNumber && 'number', hidden && `not-${hidden}`].filter(Boolean).join(' '),
  )
  return (
    // Focusable, so that the keyboard can scroll it (WCAG 2.1.1).
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div className="scroll" role="group" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map(({ head }, index) => (
              <th key={head} scope="col" className={classes[index]}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(row => (
            <tr key={keyOf(row)}>
              {columns.map(({ head, cell }, index) => (
                <td key={head} className={classes[index]}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

type Pages<Row> = Pick<
  UseInfiniteQueryResult<Row[]>,
  'data' | 'error' | 'hasNextPage' | 'isFetchingNextPage' | 'fetchNextPage'
>

/** The rows of a list that comes in pages, with what loads the next one. */
export function PagedTable<Row>({
  query,
  rows = query.data ?? [],
  ...table
}: Omit<Parameters<typeof Table<Row>>[0], 'rows'> & {
  readonly query: Pages<Row>
  /** Those to show, if not all. */
  readonly rows?: readonly Row[]
}) {
  if (query.error && query.data === undefined) return <Failure error={query.error} />
  if (query.data === undefined)
    return (
      <div className="loading" role="status">
        Loading…
      </div>
    )
  return (
    <>
      <Table {...table} rows={rows} />
      {query.hasNextPage && (
        <div className="more">
          <button
            type="button"
            className="button"
            disabled={query.isFetchingNextPage}
            onClick={() => void query.fetchNextPage()}
          >
            {query.isFetchingNextPage ? 'Loading…' : 'Load more'}
          </button>
        </div>
      )}
    </>
  )
}
