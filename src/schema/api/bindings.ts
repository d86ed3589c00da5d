import { z } from 'zod'
import { binding } from '../publication.ts'
import { modelName, name } from '../scalars.ts'
import { patchOf, shownShape } from './reshape.ts'
import { ownershipFields, pageOf, pageQuery, revised } from './shapes.ts'
import type { Operation } from './types.ts'

const { publication: _publication, endpoint: _endpoint, ...changeable } = binding.shape

const params = z.strictObject({
  publication: modelName.describe('The public model name.'),
  endpoint: name.describe('The endpoint.'),
})

const shown = z
  .strictObject({ ...shownShape(binding.shape), ...ownershipFields })
  .meta({ id: 'binding_shown', description: 'The present state of a binding.' })

export const bindingOperations = {
  list_bindings: {
    method: 'GET',
    path: '/bindings',
    tag: 'bindings',
    summary: 'List bindings',
    query: pageQuery.extend({
      publication: modelName.optional().describe('Only bindings of this publication.'),
      endpoint: name.optional().describe('Only bindings of this endpoint.'),
    }),
    answer: { status: 200, description: 'Sorted by publication and endpoint.', schema: pageOf(shown) },
  },
  create_binding: {
    method: 'POST',
    path: '/bindings',
    tag: 'bindings',
    summary: 'Bind a publication to an endpoint',
    body: z.strictObject(binding.shape).meta({ id: 'new_binding' }),
    answer: { status: 201, description: 'The binding.', schema: shown, etag: true },
    errors: ['already_exists', 'managed_by_config', 'not_servable'],
  },
  get_binding: {
    method: 'GET',
    path: '/bindings/{publication}/{endpoint}',
    tag: 'bindings',
    summary: 'Show a binding',
    params,
    answer: { status: 200, description: 'The binding.', schema: shown, etag: true },
  },
  update_binding: {
    method: 'PATCH',
    path: '/bindings/{publication}/{endpoint}',
    tag: 'bindings',
    summary: 'Change a binding',
    params,
    body: patchOf(changeable).meta({ id: 'binding_patch' }),
    answer: { status: 200, description: 'The binding.', schema: shown, etag: true },
    errors: ['managed_by_config', 'not_servable'],
    ifMatch: 'required',
  },
  delete_binding: {
    method: 'DELETE',
    path: '/bindings/{publication}/{endpoint}',
    tag: 'bindings',
    summary: 'Delete a binding',
    params,
    answer: { status: 200, description: 'The binding is deleted.', schema: revised },
    errors: ['managed_by_config'],
    ifMatch: 'optional',
  },
} as const satisfies Record<string, Operation>
