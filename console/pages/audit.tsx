import { useInfiniteQuery } from '@tanstack/react-query'
import { useConsole } from '../api/context.ts'
import { TextFilter, useFilters } from '../ui/filters.tsx'
import { clockTime, originText } from '../ui/format.ts'
import { PageHead } from '../ui/page.tsx'
import { PagedTable } from '../ui/table.tsx'

export function Audit() {
  const { queries } = useConsole()
  const [{ user, target }, filter] = useFilters({ user: '', target: '' })
  const lines = useInfiniteQuery(
    queries.audit({ limit: 100, ...(user !== '' && { user }), ...(target !== '' && { target }) }),
  )
  return (
    <>
      <PageHead title="Audit">Who changed what, when and from where. No line is ever changed.</PageHead>
      <search className="filters">
        <TextFilter label="User" value={user} onChange={name => filter({ user: name })} />
        <TextFilter
          label="Target"
          value={target}
          onChange={of => filter({ target: of })}
          placeholder="key/app"
        />
      </search>
      <PagedTable
        label="Audit"
        query={lines}
        keyOf={({ id }) => String(id)}
        empty="No such line."
        columns={[
          { head: 'When', cell: ({ at }) => <span className="short">{clockTime(at)}</span> },
          { head: 'User', cell: ({ user: name }) => name },
          {
            head: 'Action',
            cell: ({ action, reason }) => (
              <span className="short">
                {[action, reason].flatMap(text => text?.replaceAll('_', ' ') ?? []).join(': ')}
              </span>
            ),
          },
          { head: 'Target', cell: ({ target: what = '' }) => what.replace(' ', ' → ') },
          { head: 'From', cell: ({ origin, address }) => address ?? originText(origin), hidden: 'phone' },
          { head: 'Revision', cell: ({ revision }) => revision ?? '', isNumber: true, hidden: 'phone' },
        ]}
      />
    </>
  )
}
