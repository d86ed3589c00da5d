import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Shapes } from '../api/client.ts'
import { useConsole, useSession } from '../api/context.ts'
import { Dialog } from '../ui/dialog.tsx'
import { tokens } from '../ui/format.ts'
import { useGatewayUrl } from '../ui/gateway-url.ts'
import { useNow } from '../ui/now.ts'
import { Facts, PageHead } from '../ui/page.tsx'
import { currentPrice, priceParts, priceText } from '../ui/price.ts'
import { CallExamples } from '../ui/secret-dialog.tsx'
import { PagedTable } from '../ui/table.tsx'

/** The models that the keys of a tenant may call. */
export function Models() {
  const { queries } = useConsole()
  const models = useInfiniteQuery(queries.models())
  const gateway = useGatewayUrl()
  const { currency = '' } = useSession()
  const now = useNow()
  const [shown, setShown] = useState<Shapes['callable_model']>()
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
            head: `Input / output, ${currency}`,
            cell: ({ price }) => priceText(currentPrice(price, now)),
            isNumber: true,
          },
          {
            head: 'Use',
            cell: model => (
              <span className="actions">
                <button type="button" className="button small" onClick={() => setShown(model)}>
                  Details<span className="sr-only"> of {model.name}</span>
                </button>
                <Link className="button small" to="/playground" search={{ model: model.name }}>
                  Try<span className="sr-only"> {model.name}</span>
                </Link>
              </span>
            ),
          },
        ]}
      />
      {shown !== undefined && (
        <Dialog title={shown.name} isOpen isWide onClose={() => setShown(undefined)}>
          <Facts
            facts={[
              [
                'Paths',
                shown.paths.length === 0 ? 'none: no endpoint serves it now' : shown.paths.join(', '),
              ],
              ['Context window', tokens(shown.max_input_tokens)],
              ['Output', shown.max_output_tokens && `up to ${tokens(shown.max_output_tokens)}`],
              ...priceParts(currentPrice(shown.price, now) ?? {}, currency),
            ]}
          />
          <h3>How to call it</h3>
          <CallExamples secret="YOUR_SECRET" model={shown.name} gateway={gateway} paths={shown.paths} />
        </Dialog>
      )}
    </>
  )
}
