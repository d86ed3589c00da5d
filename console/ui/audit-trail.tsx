import { useInfiniteQuery } from '@tanstack/react-query'
import { useConsole, useSession } from '../api/context.ts'
import { ago, clockTime, originText } from './format.ts'
import { useNow } from './now.ts'
import { Section } from './page.tsx'
import { PagedTable } from './table.tsx'

/** Who changed a resource, newest first. @param target such as `key/app`. */
export function AuditTrail({ target }: { readonly target: string }) {
  const { queries } = useConsole()
  const canRead = useSession().can('list_audit')
  const now = useNow()
  const lines = useInfiniteQuery({ ...queries.audit({ target, limit: 10 }), enabled: canRead })
  if (!canRead) return null
  return (
    <Section title="Changes">
      <PagedTable
        label="Changes"
        query={lines}
        keyOf={({ id }) => String(id)}
        empty="No change by the console, REST or the command line yet."
        columns={[
          {
            head: 'When',
            cell: ({ at }) => (
              <time dateTime={at} title={clockTime(at)}>
                {ago(at, now)}
              </time>
            ),
          },
          { head: 'Action', cell: ({ action }) => action.replaceAll('_', ' ') },
          { head: 'User', cell: ({ user }) => user },
          { head: 'From', cell: ({ origin, address }) => address ?? originText(origin), hidden: 'phone' },
          { head: 'Revision', cell: ({ revision }) => revision ?? '', isNumber: true, hidden: 'phone' },
        ]}
      />
    </Section>
  )
}
