import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiFailure, dataOf, type Shapes } from '../api/client.ts'
import { useConsole, useSession } from '../api/context.ts'
import { Field } from '../ui/fields.tsx'
import { Empty, Failure, PageHead, Prose, Section } from '../ui/page.tsx'
import { PlanView } from '../ui/preview.tsx'

type Problem = Shapes['config_problem']

/** What a configuration would change, before it is applied. */
export function Plan() {
  const { api } = useConsole()
  const { can } = useSession()
  const client = useQueryClient()
  const [yaml, setYaml] = useState('')
  const [deletes, setDeletes] = useState(false)
  const planning = useMutation({
    mutationFn: () => dataOf(api.POST('/api/v1/config/plan', { body: { yaml } })),
  })
  const plan = planning.data
  const applying = useMutation({
    mutationFn: (base: number) =>
      dataOf(
        api.POST('/api/v1/config/apply', {
          body: { yaml, base, ...(deletes && { allow_deletes: plan?.counts.delete ?? 0 }) } as never,
        }),
      ),
    onSuccess: () => client.invalidateQueries(),
  })
  const edit = (text: string) => {
    planning.reset()
    applying.reset()
    setDeletes(false)
    setYaml(text)
  }
  const read = (files: FileList | null) => {
    const [file] = files ?? []
    if (file) void file.text().then(edit)
  }
  const changes = plan ? plan.counts.create + plan.counts.update + plan.counts.delete : 0
  return (
    <>
      <PageHead title="Plan">
        What a configuration file would change, field by field and for callers. Nothing is written before you
        apply it.
      </PageHead>
      <div className="columns">
        <Section title="Configuration">
          <form
            className="stack"
            onSubmit={event => {
              event.preventDefault()
              applying.reset()
              planning.mutate()
            }}
          >
            <Field
              label="YAML"
              hint="Paste it, or drop a file here. Variables are not replaced; a set is what the file names."
            >
              {control => (
                <textarea
                  {...control}
                  className="yaml"
                  rows={22}
                  spellCheck={false}
                  required
                  value={yaml}
                  placeholder={'version: 1\nset: team-a\nendpoints:\n  …'}
                  onChange={event => edit(event.target.value)}
                  onDragOver={event => event.preventDefault()}
                  onDrop={event => {
                    event.preventDefault()
                    read(event.dataTransfer.files)
                  }}
                />
              )}
            </Field>
            <div className="actions">
              <button type="submit" className="button primary" disabled={planning.isPending}>
                {planning.isPending ? 'Planning…' : 'Plan'}
              </button>
              <label className="button">
                Open a file
                <input
                  className="sr-only"
                  type="file"
                  accept=".yaml,.yml"
                  onChange={event => read(event.target.files)}
                />
              </label>
            </div>
          </form>
        </Section>
        <Section
          title="Plan"
          actions={
            plan &&
            changes > 0 &&
            can('apply_config') &&
            !applying.data && (
              <button
                type="button"
                className="button primary"
                disabled={applying.isPending}
                onClick={() => applying.mutate(plan.base)}
              >
                {applying.isPending ? 'Probing and applying…' : 'Apply'}
              </button>
            )
          }
        >
          {planning.error && <PlanFailure error={planning.error} />}
          {applying.error && <PlanFailure error={applying.error} />}
          {applying.error instanceof ApiFailure && applying.error.problem.code === 'too_many_deletes' && (
            <label className="check">
              <input type="checkbox" checked={deletes} onChange={event => setDeletes(event.target.checked)} />
              Delete {plan?.counts.delete} resources
            </label>
          )}
          {applying.data && (
            <p className="notice good" role="status">
              Revision {applying.data.revision} is applied.
            </p>
          )}
          {plan && <PlanView plan={plan} />}
          {!plan && !planning.error && <Empty>The plan comes here.</Empty>}
        </Section>
      </div>
    </>
  )
}

function PlanFailure({ error }: { readonly error: Error }) {
  const problems =
    error instanceof ApiFailure ? (error.problem['problems'] as Problem[] | undefined) : undefined
  if (!problems) return <Failure error={error} />
  return (
    <ul className="problems" role="alert" aria-label="Problems">
      {problems.map(({ severity, message, line, column, hint, frame }) => (
        <li
          key={`${line}:${column}:${message}`}
          className={severity === 'error' ? 'notice bad' : 'notice warn'}
        >
          <p>
            <strong>
              <Prose text={message} />
            </strong>
          </p>
          <p className="note">
            Line {line}, column {column}
          </p>
          {frame !== undefined && (
            // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
            <pre className="diff" tabIndex={0} role="group" aria-label={`Line ${line}`}>
              {frame}
            </pre>
          )}
          <p>
            <Prose text={hint} />
          </p>
        </li>
      ))}
    </ul>
  )
}
