import type { UseQueryResult } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useEffect } from 'react'
import { ApiFailure } from '../api/client.ts'

export interface Crumb {
  readonly label: string
  readonly to: string
}

/** The head of a page: where it is, what it shows, and what can be done. */
export function PageHead({
  title,
  crumbs = [],
  children,
  actions,
}: {
  readonly title: string
  readonly crumbs?: readonly Crumb[]
  readonly children?: ReactNode
  readonly actions?: ReactNode
}) {
  useEffect(() => {
    document.title = `${title} · gw`
  }, [title])
  return (
    <header className="page-head">
      <div>
        {crumbs.length > 0 && (
          <nav className="crumbs" aria-label="Breadcrumb">
            {crumbs.map(({ label, to }) => (
              <Link key={to} to={to}>
                {label}
              </Link>
            ))}
          </nav>
        )}
        <h1>{title}</h1>
        {children !== undefined && <div className="page-note">{children}</div>}
      </div>
      {actions !== undefined && <div className="actions">{actions}</div>}
    </header>
  )
}

/** A part of a page. */
export function Section({
  title,
  note,
  actions,
  children,
}: {
  readonly title: string
  readonly note?: ReactNode
  readonly actions?: ReactNode
  readonly children: ReactNode
}) {
  return (
    <section className="section" aria-label={title}>
      <header>
        <h2>{title}</h2>
        {note !== undefined && <span className="note">{note}</span>}
        {actions !== undefined && <div className="actions">{actions}</div>}
      </header>
      {children}
    </section>
  )
}

/** Names and values. Those without a value are left out. */
export function Facts({ facts }: { readonly facts: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className="facts">
      {facts
        .filter(([, value]) => value !== undefined && value !== null && value !== false && value !== '')
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  )
}

/** Nothing to show, and what to do about it. */
export function Empty({ children }: { readonly children: ReactNode }) {
  return <div className="empty">{children}</div>
}

/** A sentence of the control plane: what it has in backticks is code. */
export function Prose({ text }: { readonly text: string }) {
  return text.split('`').map((part, index) => {
    // The parts of a sentence have no identity but their place.
    // oxlint-disable-next-line react/no-array-index-key
    return index % 2 === 1 ? <code key={index}>{part}</code> : part
  })
}

/** `/limits/rpm` → `limits rpm` */
function wordsOf(pointer: string): string {
  return pointer.slice(1).replaceAll(/[/_]/g, ' ')
}

/** An error, with what would help; or the fields that are wrong. */
export function Failure({ error }: { readonly error: Error }) {
  const problem = error instanceof ApiFailure ? error.problem : undefined
  // Their hint is about the members of the answer.
  const inFields = problem?.errors?.filter(({ pointer = '' }) => pointer !== '') ?? []
  return (
    <div className="notice bad" role="alert">
      {inFields.length > 0 ? (
        <ul>
          {inFields.map(({ pointer = '', detail }) => (
            <li key={`${pointer} ${detail}`}>
              <strong>{wordsOf(pointer)}:</strong> <Prose text={detail} />
            </li>
          ))}
        </ul>
      ) : (
        <>
          <p>
            <strong>
              <Prose text={error.message} />
            </strong>
          </p>
          {problem && (
            <p>
              <Prose text={problem.hint} />
            </p>
          )}
        </>
      )}
      {problem?.request_id && <p className="note">Request {problem.request_id}</p>}
    </div>
  )
}

type Result<Data> = Pick<UseQueryResult<Data>, 'data' | 'error'>

/** What a query has found. After an error that says that it is gone, or not for this user, the data of before is not shown. */
export function presentData<Data>({ data, error }: Result<Data>): Data | undefined {
  const status = error instanceof ApiFailure ? error.problem.status : undefined
  return status === 401 || status === 403 || status === 404 ? undefined : data
}

/** The page of one resource: what a query found, or under its name why not. */
export function LoadedPage<Data>({
  name,
  crumb,
  query,
  children,
}: {
  readonly name: string
  /** The list that the resource is in. */
  readonly crumb: Crumb
  readonly query: Result<Data>
  readonly children: (data: Data) => ReactNode
}) {
  const loaded = <Loaded query={query}>{children}</Loaded>
  if (presentData(query) !== undefined) return loaded
  return (
    <>
      <PageHead title={name} crumbs={[crumb]} />
      {loaded}
    </>
  )
}

/** What a query found, or why not. Where it cannot be read again, the error comes first. */
export function Loaded<Data>({
  query,
  children,
}: {
  readonly query: Result<Data>
  readonly children: (data: Data) => ReactNode
}) {
  const data = presentData(query)
  if (data !== undefined || query.error)
    return (
      <>
        {query.error && <Failure error={query.error} />}
        {data !== undefined && children(data)}
      </>
    )
  return (
    <div className="loading" role="status">
      Loading…
    </div>
  )
}
