import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useConsole } from '../api/context.ts'
import { ExportDialog } from '../ui/export-dialog.tsx'
import { pluralized } from '../ui/format.ts'
import { Loaded, PageHead } from '../ui/page.tsx'
import { Table } from '../ui/table.tsx'

/** Which files own what. */
export function Sets() {
  const { queries } = useConsole()
  const sets = useQuery(queries.sets())
  // Null: what no file declares.
  const [exported, setExported] = useState<string | null>()
  return (
    <>
      <PageHead
        title="Sets"
        actions={
          <Link to="/plan" className="button">
            Plan a configuration
          </Link>
        }
      >
        A set is what one tree of configuration files owns. The console changes none of it.
      </PageHead>
      <Loaded query={sets}>
        {({ data, unmanaged }) => {
          const isUnmanaged = Object.keys(unmanaged).length > 0
          const own = {
            name: null,
            resources: unmanaged,
            files: [],
            updated_revision: undefined,
          }
          return (
            <Table
              label="Sets"
              rows={[...data, ...(isUnmanaged ? [own] : [])]}
              keyOf={({ name }) => name ?? ''}
              empty={
                <>
                  Nothing is configured yet: begin with the <Link to="/setup">setup</Link>, or with files and{' '}
                  <code>gw apply</code>.
                </>
              }
              columns={[
                { head: 'Set', cell: ({ name }) => name ?? <em>no file: console and command line</em> },
                {
                  head: 'Resources',
                  cell: ({ resources }) =>
                    Object.entries(resources)
                      .map(([kind, number]) => (kind === 'settings' ? kind : pluralized(number, kind)))
                      .join(', '),
                },
                {
                  head: 'Files',
                  cell: ({ files }) => <span className="mono">{files.join(', ')}</span>,
                  hidden: 'tablet',
                },
                {
                  head: 'Last change',
                  cell: ({ updated_revision: revision }) =>
                    revision === undefined ? '' : `revision ${revision}`,
                  hidden: 'phone',
                },
                {
                  head: 'Actions',
                  cell: ({ name }) => (
                    <button type="button" className="button small" onClick={() => setExported(name)}>
                      Export<span className="sr-only"> {name ?? 'what no file declares'}</span>
                    </button>
                  ),
                },
              ]}
            />
          )
        }}
      </Loaded>
      {exported !== undefined && (
        <ExportDialog {...(exported !== null && { set: exported })} onClose={() => setExported(undefined)} />
      )}
    </>
  )
}
