import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useConsole } from '../api/context.ts'
import { Dialog } from '../ui/dialog.tsx'
import { useGatewayUrl } from '../ui/gateway-url.ts'
import { useNow } from '../ui/now.ts'
import { PageHead } from '../ui/page.tsx'
import { presentPrice, priceText } from '../ui/price.ts'
import { CallExamples } from '../ui/secret-dialog.tsx'
import { PagedTable } from '../ui/table.tsx'

/** The models that the keys of a tenant may call. */
export function Models() {
  const { queries } = useConsole()
  const models = useInfiniteQuery(queries.models())
  const gateway = useGatewayUrl()
  const now = useNow()
  const [shown, setShown] = useState<string>()
  return (
    <>
      <PageHead title="Models">What your keys may call, with its price for a million tokens.</PageHead>
      <PagedTable
        label="Models"
        query={models}
        keyOf={({ name }) => name}
        empty="No key may call a model yet. Create a key, or ask your operator."
        columns={[
          { head: 'Model', cell: ({ name }) => <strong>{name}</strong> },
          { head: 'By', cell: ({ owned_by: owner }) => owner ?? '', hidden: 'phone' },
          {
            head: 'Input / output',
            cell: ({ price }) => priceText(presentPrice(price, now)),
            isNumber: true,
          },
          {
            head: 'Use',
            cell: ({ name }) => (
              <span className="actions">
                <button type="button" className="button small" onClick={() => setShown(name)}>
                  Examples<span className="sr-only"> of {name}</span>
                </button>
                <Link className="button small" to="/playground" search={{ model: name }}>
                  Try<span className="sr-only"> {name}</span>
                </Link>
              </span>
            ),
          },
        ]}
      />
      {shown !== undefined && (
        <Dialog title={`How to call ${shown}`} isOpen isWide onClose={() => setShown(undefined)}>
          <CallExamples secret="YOUR_SECRET" model={shown} gateway={gateway} />
        </Dialog>
      )}
    </>
  )
}
