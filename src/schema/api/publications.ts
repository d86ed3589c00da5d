import { z } from 'zod'
import { publication } from '../publication.ts'
import { modelName, name } from '../scalars.ts'
import { patchOf, shownShape } from './reshape.ts'
import { byModelName, ownershipFields, pageOf, pageQuery, resourceQuery, revised } from './shapes.ts'
import type { Operation } from './types.ts'

const shown = z
  .strictObject({ name: modelName, ...shownShape(publication.shape), ...ownershipFields })
  .meta({ id: 'publication_shown', description: 'The present state of a publication.' })

const { owned_by, price, max_input_tokens, max_output_tokens } = publication.shape

const callable = z
  .strictObject({
    name: modelName,
    ...shownShape({ owned_by, price, max_input_tokens, max_output_tokens }),
    paths: z.array(z.string()).describe('The paths at which an endpoint serves it.'),
  })
  .meta({ id: 'callable_model', description: 'A model that keys may call.' })

export const publicationOperations = {
  list_models: {
    method: 'GET',
    path: '/models',
    tag: 'publications',
    summary: 'List the models that keys may call',
    description:
      'The listed publications that at least one working key may call, with their prices, limits and paths; for users of a tenant, a key of their tenant.',
    query: pageQuery.extend({ tenant: name.optional().describe('Only models of keys of this tenant.') }),
    answer: { status: 200, description: 'Sorted by name.', schema: pageOf(callable) },
  },
  list_publications: {
    method: 'GET',
    path: '/publications',
    tag: 'publications',
    summary: 'List publications',
    query: resourceQuery,
    answer: { status: 200, description: 'Sorted by name.', schema: pageOf(shown) },
  },
  create_publication: {
    method: 'POST',
    path: '/publications',
    tag: 'publications',
    summary: 'Create a publication',
    description: 'It cannot be called until it has a binding to an endpoint.',
    body: z.strictObject({ name: modelName, ...publication.shape }).meta({ id: 'new_publication' }),
    answer: { status: 201, description: 'The publication.', schema: shown, etag: true },
    errors: ['already_exists', 'managed_by_config', 'not_servable'],
  },
  get_publication: {
    method: 'GET',
    path: '/publications/{name}',
    tag: 'publications',
    summary: 'Show a publication',
    params: byModelName,
    answer: { status: 200, description: 'The publication.', schema: shown, etag: true },
  },
  update_publication: {
    method: 'PATCH',
    path: '/publications/{name}',
    tag: 'publications',
    summary: 'Change a publication',
    params: byModelName,
    body: patchOf(publication.shape).meta({ id: 'publication_patch' }),
    answer: { status: 200, description: 'The publication.', schema: shown, etag: true },
    errors: ['managed_by_config', 'not_servable'],
    ifMatch: 'required',
  },
  delete_publication: {
    method: 'DELETE',
    path: '/publications/{name}',
    tag: 'publications',
    summary: 'Delete a publication',
    description: 'Rejected while the publication has bindings.',
    params: byModelName,
    answer: { status: 200, description: 'The publication is deleted.', schema: revised },
    errors: ['managed_by_config', 'in_use'],
    ifMatch: 'optional',
  },
} as const satisfies Record<string, Operation>
