import type { UseInfiniteQueryResult } from '@tanstack/react-query'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { Failure, presentData } from './page.tsx'
import { useReturnToRow } from './row-focus.tsx'

export interface Column<Row> {
  readonly head: string
  readonly cell: (row: Row) => ReactNode
  /** Numbers are aligned by their last digit. */
  readonly isNumber?: boolean
  /** Left out on narrow screens: `tablet` and below, or `phone` alone. */
  readonly hidden?: 'tablet' | 'phone'
}

/** Rows that are rendered, or not, together. */
const CHUNK = 25

/** A table. Its first column names the row. Of a long one only what is near the window is rendered. */
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
  const returnTo = useReturnToRow()
  if (rows.length === 0) return <div className="empty">{empty}</div>
  const classes = columns.map(({ isNumber, hidden }) =>
    [isNumber && 'number', hidden && `not-${hidden}`].filter(Boolean).join(' '),
  )
  const chunks = Array.from({ length: Math.ceil(rows.length / CHUNK) }, (_, index) =>
    rows.slice(index * CHUNK, (index + 1) * CHUNK),
  )
  return (
    // Focusable, so that the keyboard can scroll it (WCAG 2.1.1).
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div className="scroll" role="group" aria-label={label} tabIndex={0}>
      <table ref={returnTo}>
        <thead>
          <tr>
            {columns.map(({ head }, index) => (
              <th key={head} scope="col" className={classes[index]}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        {chunks.map((chunk, index) => (
          // A chunk has no identity but its place; its rows have.
          // oxlint-disable-next-line react/no-array-index-key
          <Chunk
            key={index}
            isFirst={index === 0}
            render={() =>
              chunk.map(row => (
                <tr key={keyOf(row)} data-row={keyOf(row)}>
                  {columns.map(({ head, cell }, column) => (
                    <td key={head} className={classes[column]}>
                      {cell(row)}
                    </td>
                  ))}
                </tr>
              ))
            }
          />
        ))}
      </table>
    </div>
  )
}

/** How far from the window rows are rendered, so that scrolling shows no gap. */
const MARGIN = '1500px 0px'

/** Some rows; while they are far from the window an empty row of their height, and none of their cells is made. */
function Chunk({ isFirst, render }: { readonly isFirst: boolean; readonly render: () => ReactNode }) {
  const body = useRef<HTMLTableSectionElement>(null)
  /** The height of the rows, while they are not rendered. */
  const [gap, setGap] = useState<number>()
  useEffect(() => {
    const element = body.current
    if (!element || isFirst) return undefined
    const observer = new IntersectionObserver(
      ([entry]) => {
        if (entry) setGap(entry.isIntersecting ? undefined : element.offsetHeight)
      },
      { rootMargin: MARGIN },
    )
    observer.observe(element)
    return () => observer.disconnect()
  }, [isFirst])
  return (
    <tbody ref={body}>
      {gap === undefined ? render() : <tr aria-hidden="true" style={{ height: gap }} />}
    </tbody>
  )
}

type Pages<Row> = Pick<
  UseInfiniteQueryResult<Row[]>,
  'data' | 'error' | 'hasNextPage' | 'isFetchNextPageError' | 'isFetchingNextPage' | 'fetchNextPage'
>

/** The rows of a list that comes in pages. The next page is read when the end of the list comes near. */
export function PagedTable<Row>({
  query,
  rows,
  ...table
}: Omit<Parameters<typeof Table<Row>>[0], 'rows'> & {
  readonly query: Pages<Row>
  /** Those to show, if not all. */
  readonly rows?: readonly Row[]
}) {
  const data = presentData(query)
  const failure = query.error && !query.isFetchNextPageError && <Failure error={query.error} />
  if (data === undefined)
    return (
      failure || (
        <div className="loading" role="status">
          Loading…
        </div>
      )
    )
  return (
    <>
      {failure}
      <Table {...table} rows={rows ?? data} />
      {query.hasNextPage && <More query={query} />}
    </>
  )
}

/** A page is read by itself only after the reader has scrolled: a page of sections would read its lists to their ends. */
const FIRST_PAGES_ROWS = 100

function More<Row>({ query }: { readonly query: Pages<Row> }) {
  const { isFetchNextPageError, isFetchingNextPage, fetchNextPage, data, error } = query
  const end = useRef<HTMLDivElement>(null)
  const isLong = (data?.length ?? 0) >= FIRST_PAGES_ROWS
  useEffect(() => {
    const element = end.current
    if (!element || !isLong || isFetchingNextPage || error) return undefined
    const observer = new IntersectionObserver(
      ([entry]) => {
        if (entry?.isIntersecting && scrollY > 0) void fetchNextPage()
      },
      { rootMargin: '800px 0px' },
    )
    observer.observe(element)
    return () => observer.disconnect()
  }, [isLong, isFetchingNextPage, fetchNextPage, error])
  return (
    <div className="more" ref={end}>
      {error && isFetchNextPageError && <Failure error={error} />}
      <button
        type="button"
        className="button"
        disabled={isFetchingNextPage}
        onClick={() => void fetchNextPage()}
      >
        {isFetchingNextPage ? 'Loading…' : 'Load more'}
      </button>
    </div>
  )
}
