import type { Api, Shapes } from './client.ts'
import { dataOf } from './client.ts'

export type Kind = Shapes['wanted_change']['kind']
/** The fields of a resource, or a JSON merge patch of them. */
export type Fields = Readonly<Record<string, unknown>>

/** A change of one resource. */
export interface Change {
  readonly action: 'create' | 'update' | 'delete'
  readonly kind: Kind
  /** Of a binding: its publication, a space, and its endpoint. */
  readonly name: string
  /** All fields of a new resource, or a merge patch; absent for a deletion. */
  readonly fields?: Fields
  /** The revision of the resource that the change is based on. */
  readonly version?: number
  /** Of a new publication: the endpoint that it is bound to at once. */
  readonly bindTo?: string
}

/** The key of a mutation that deletes a resource. Queries of the resource are not repeated meanwhile: they would get 404. */
export function deletionOf(name: unknown): readonly unknown[] {
  return ['delete', name]
}

const LISTS = {
  endpoint: '/api/v1/endpoints',
  publication: '/api/v1/publications',
  binding: '/api/v1/bindings',
  tenant: '/api/v1/tenants',
  key: '/api/v1/keys',
} as const

/** The effect of a change, and for resources of files the patch that makes it there. */
export function previewOf(
  api: Api,
  { kind, name, action, fields }: Change,
): Promise<Shapes['change_preview']> {
  // A credential has no plan: it is stored apart, and files have a reference instead.
  const { upstream_key: _credential, ...patch } = fields ?? {}
  const body = { kind, name, ...(action !== 'delete' && { patch }) } as never
  return dataOf(api.POST('/api/v1/config/patch', { body }))
}

/** Makes a change over the operation of its kind. The path and the body follow from the kind. */
async function makeChange(api: Api, change: Change): Promise<void> {
  const { kind, name, action, fields, version } = change
  if (action === 'create') {
    const identity = kind === 'binding' ? namesOf(name) : { name }
    await api.POST(LISTS[kind], { body: { ...identity, ...fields } as never })
    return
  }
  const header = { 'if-match': version === undefined ? '*' : `"${version}"` }
  const params = { path: kind === 'binding' ? namesOf(name) : { name }, header } as never
  const path = kind === 'binding' ? `${LISTS.binding}/{publication}/{endpoint}` : `${LISTS[kind]}/{name}`
  if (action === 'update') await api.PATCH(path as '/api/v1/keys/{name}', { params, body: fields as never })
  else await api.DELETE(path as '/api/v1/keys/{name}', { params })
}

/** Publishes a model and binds it. A second attempt goes on where the first one failed: with the binding. */
export function publisher(api: Api): (change: Change) => Promise<void> {
  let published: string | undefined
  return async change => {
    const { bindTo, ...publication } = change
    if (published !== change.name) await makeChange(api, publication)
    published = change.name
    const binding = `${change.name} ${bindTo}`
    if (bindTo !== undefined) await makeChange(api, { action: 'create', kind: 'binding', name: binding })
  }
}

function namesOf(binding: string): { readonly publication: string; readonly endpoint: string } {
  const [publication = '', endpoint = ''] = binding.split(' ')
  return { publication, endpoint }
}
