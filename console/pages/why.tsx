import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useConsole, useSession } from '../api/context.ts'
import { DecisionView } from '../ui/decision.tsx'
import { TextField } from '../ui/fields.tsx'
import { useFilters } from '../ui/filters.tsx'
import { Empty, Loaded, PageHead } from '../ui/page.tsx'

export function Why() {
  const { queries } = useConsole()
  const [asked, ask] = useFilters({ key: '', model: '' })
  const [key, setKey] = useState(asked.key)
  const [model, setModel] = useState(asked.model)
  const [seen, setSeen] = useState(asked)
  if (seen.key !== asked.key || seen.model !== asked.model) {
    // Asked by a link, or by "back".
    setSeen(asked)
    setKey(asked.key)
    setModel(asked.model)
  }
  const keys = useInfiniteQuery(queries.keys())
  const models = useInfiniteQuery(queries.models())
  const isAdmin = useSession().user.role === 'admin'
  return (
    <>
      <PageHead title="Why">Would this call be served now, and if not, why? No call is made.</PageHead>
      <form
        className="filters"
        onSubmit={event => {
          event.preventDefault()
          ask({ key, model })
        }}
      >
        <TextField label="Key" value={key} onChange={setKey} list="why-keys" autoComplete="off" />
        <TextField label="Model" value={model} onChange={setModel} list="why-models" autoComplete="off" />
        <button type="submit" className="button primary">
          Ask
        </button>
        <datalist id="why-keys">
          {keys.data?.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </datalist>
        <datalist id="why-models">
          {models.data?.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </datalist>
      </form>
      {asked.key !== '' || (isAdmin && asked.model !== '') ? (
        <Decision asked={asked} />
      ) : (
        <Empty>
          {isAdmin
            ? 'Choose a key, a model, or both. One alone shows the verdict about all of the other.'
            : 'Choose a key, and a model. A key alone shows the verdict about all models that it sees.'}
        </Empty>
      )}
    </>
  )
}

function Decision({ asked }: { readonly asked: { readonly key: string; readonly model: string } }) {
  const { queries } = useConsole()
  const explanation = useQuery(
    queries.why({
      ...(asked.key !== '' && { key: asked.key }),
      ...(asked.model !== '' && { model: asked.model }),
    }),
  )
  return <Loaded query={explanation}>{found => <DecisionView asked={asked} explanation={found} />}</Loaded>
}
