import { useNavigate } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import type { Fields, Kind } from '../api/changes.ts'
import { Owner } from './badges.tsx'
import { ChangeButton } from './change-dialog.tsx'
import { type Crumb, PageHead } from './page.tsx'
import { type FormField, ResourceForm, type Variants } from './resource-form.tsx'

/** What the pages of all resources have in common. */
interface Owned extends Fields {
  readonly name: string
  readonly owner: 'config' | 'cli' | 'rest'
  readonly set?: string
  readonly file?: string
  readonly line?: number
  readonly updated_revision: number
  readonly display_name?: unknown
}

/** The head of the page of a resource, with its change and its deletion; for what files own, the patches for them. */
export function ResourceHead({
  kind,
  resource,
  crumb,
  canEdit,
  canDelete = canEdit,
  actions,
  fields,
  variants,
}: {
  readonly kind: Exclude<Kind, 'binding'>
  readonly resource: Owned
  /** The list that it is in. */
  readonly crumb: Crumb
  readonly canEdit: boolean
  readonly canDelete?: boolean
  /** Further ones, before these. */
  readonly actions?: ReactNode
  readonly fields: readonly FormField[]
  readonly variants?: Variants
}) {
  const { name, owner, updated_revision: version, display_name: display } = resource
  const navigate = useNavigate()
  const [isEditing, setEditing] = useState(false)
  const verb = owner === 'config' ? 'Patch' : 'Edit'
  return (
    <>
      <PageHead
        title={name}
        crumbs={[crumb]}
        actions={
          <>
            {actions}
            {canEdit && (
              <button type="button" className="button" onClick={() => setEditing(true)}>
                {verb}
              </button>
            )}
            {canDelete && (
              <ChangeButton
                className="button danger"
                change={{ action: 'delete', kind, name, version }}
                onDone={() => void navigate({ to: crumb.to })}
              >
                Delete
              </ChangeButton>
            )}
          </>
        }
      >
        {typeof display === 'string' ? display : undefined}
      </PageHead>
      {isEditing && (
        <ResourceForm
          kind={kind}
          title={`${verb} ${name}`}
          fields={fields}
          {...(variants && { variants })}
          resource={resource}
          onClose={() => setEditing(false)}
        />
      )}
    </>
  )
}

type Fact = readonly [string, ReactNode]

/** Who owns a resource, and where it is declared. */
export function ownerFacts({ owner, set, file, line }: Owned): readonly Fact[] {
  return [
    ['Owner', <Owner key="owner" owner={owner} {...(set !== undefined && { set })} />],
    ['Declared in', file !== undefined && <code key="file">{`${file}:${line}`}</code>],
  ]
}
