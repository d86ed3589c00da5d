import type { DeclaredResource, Tree } from '../../../src/config/types.ts'
import { bindingName, type Kind } from '../../../src/schema/kinds.ts'
import { compareResources } from '../../../src/store/resources.ts'
import type { Live, OwnedResource, StoredResource } from '../../../src/store/types.ts'
import { canonical } from '../../store/samples.ts'
import { emptyLive } from './empty-live.ts'

/** A declared resource out of what a file would say; at line `line` of `gw.yaml`. */
function extractDeclarations(kind: Kind, name: string, input: unknown = {}, line = 1): DeclaredResource {
  return { kind, name, spec: canonical(kind, input), place: { file: 'gw.yaml', line, column: 3 } }
}

export const endpoint = (name: string, more: object = {}, line?: number) =>
  extractDeclarations(
    'endpoint',
    name,
    { protocol: 'openai', base_url: 'https://api.example.com/v1', served_model: 'm', ...more },
    line,
  )
export const publication = (name: string, more: object = {}, line?: number) =>
  extractDeclarations('publication', name, { price: { input: 1 }, ...more }, line)
export const binding = (model: string, endpointName: string, more: object = {}, line?: number) =>
  extractDeclarations(
    'binding',
    bindingName(model, endpointName),
    { publication: model, endpoint: endpointName, ...more },
    line,
  )
export const tenant = (name: string, more: object = {}, line?: number) =>
  extractDeclarations('tenant', name, more, line)
export const key = (name: string, more: object = {}, line?: number) =>
  extractDeclarations('key', name, { kind: 'platform', ...more }, line)

export const node = (name: string, more: object = {}) => extractDeclarations('node', name, more)
export const settings = (more: object) => extractDeclarations('settings', 'settings', more)

export function tree(...resources: readonly DeclaredResource[]): Tree {
  return treeOf('default', ...resources)
}

export function treeOf(set: string, ...resources: readonly DeclaredResource[]): Tree {
  return { set, resources: resources.toSorted(compareResources), files: ['gw.yaml'] }
}

/** What stands at revision 7. */
export function liveWith(resources: readonly OwnedResource[], more: Partial<Live> = {}): Live {
  const stored = resources.map(
    (resource): StoredResource => ({
      ...resource,
      createdRevision: 1,
      updatedRevision: 1,
      createdAtMs: 1_000,
    }),
  )
  return {
    ...emptyLive(5_000),
    head: { revision: 7, keyVersion: 0 },
    resources: stored.toSorted(compareResources),
    ...more,
  }
}

/** A declared resource as the files of `set` own it in the store. */
export function ownedBy(set: string, { kind, name, spec, place }: DeclaredResource): OwnedResource {
  return { kind, name, spec, owner: 'config', set, place: { file: `${set}.yaml`, line: place.line } }
}

/** The same as the command line or REST own it. */
export function madeBy(owner: 'cli' | 'rest', { kind, name, spec }: DeclaredResource): OwnedResource {
  return { kind, name, spec, owner }
}
